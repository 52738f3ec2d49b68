"""What an operator does with the console: each task with what is pressed for it, from the overview on."""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Locator, Page, expect

from tests.console.hands import Hand
from tests.console.seeded import ADMINISTRATOR, SeededFleet

MOST_PRESSES = 5
PRESET_WITH_DATA = "fltrust"
TO_ARCHIVE = "Old trial"
"""A draft, as each hand has it."""


class Scene(NamedTuple):
    """Whose hand it is, and what it works at."""

    hand: Hand
    fleet: SeededFleet
    program: Path
    """A file that could be a model."""
    pair: str
    """One that this hand alone tries a version of."""

    @property
    def page(self) -> Page:
        return self.hand.page

    def go(self, place: str) -> None:
        """To a page of the sidebar."""
        self.hand.press(self.page.get_by_role("navigation").get_by_role("link", name=place, exact=True))

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name, exact=True)

    def field(self, label: str) -> Locator:
        """One that offers a list."""
        return self.page.get_by_role("combobox", name=label).or_(self.page.get_by_label(label, exact=True)).first

    def named(self, name: str) -> str:
        """What this hand makes, apart from what the other does."""
        return f"{name} by {type(self.hand).__name__.lower()}"

    def press(self, name: str) -> None:
        """A button, once it can be pressed."""
        expect(self.button(name)).not_to_have_attribute("aria-disabled", "true")
        self.hand.press(self.button(name))

    def press_and_confirm(self, name: str) -> None:
        """A button that asks first."""
        self.press(name)
        self.hand.press(self.page.get_by_role("dialog").get_by_role("button", name=name, exact=True))

    def open(self, table: str, link: str | re.Pattern[str], row: str = "") -> None:
        """A link of a table, in the first row that says so."""
        rows = self.page.get_by_role("table", name=table, exact=True).get_by_role("row")
        link_ = (rows.filter(has_text=row) if row else rows).get_by_role("link", name=link, exact=isinstance(link, str))
        self.hand.press(link_.first)

    def federation(self, name: str) -> None:
        """Its page."""
        self.go("Federations")
        self.open("Federations", name)

    def device(self, status: str) -> str:
        """The page of the first device that stands so; its name."""
        self.go("Devices")
        row = self.page.get_by_role("table", name="Devices").get_by_role("row").filter(has_text=status).first
        link = row.get_by_role("link").first
        name = link.inner_text()
        self.hand.press(link)
        return name

    def listed(self, path: str) -> Sequence[Mapping[str, str]]:
        """What the REST API lists there."""
        rows: Sequence[Mapping[str, str]] = self.page.context.request.get(f"{self.fleet.url}/api/{path}").json()[
            "results"
        ]
        return rows

    def post(self, path: str, body: Mapping[str, object]) -> None:
        """Have it so by the REST API before the hand begins."""
        (token,) = [cookie["value"] for cookie in self.page.context.cookies() if cookie["name"] == "csrftoken"]
        headers = {"X-CSRFToken": token, "Referer": self.fleet.url}
        made = self.page.context.request.post(f"{self.fleet.url}/api/{path}", data=dict(body), headers=headers)
        assert made.ok, made.text()

    def sees(self, region: str) -> Locator:
        """A part of the page, which is there."""
        part = self.page.get_by_role("region", name=region, exact=True)
        expect(part).to_be_visible()
        return part


def sign_in(scene: Scene) -> None:
    scene.page.context.clear_cookies()
    scene.page.goto("/")
    scene.hand.type(scene.page.get_by_label("Name"), ADMINISTRATOR)
    scene.hand.type(scene.page.get_by_label("Password"), scene.fleet.password)
    scene.press("Sign in")
    expect(scene.page.get_by_role("heading", level=1, name="Overview")).to_be_visible()


def see_what_is_wrong(scene: Scene) -> None:
    expect(scene.sees("Repairs").get_by_role("button").first).to_be_visible()


def see_why_a_device_does_not_train(scene: Scene) -> None:
    scene.device("waiting")
    expect(scene.sees("Why it does not train")).to_contain_text(re.compile(r"\w{4}"))


def enrol(scene: Scene) -> None:
    scene.go("Enrol")
    scene.hand.type(scene.page.get_by_label("What it is for"), "hall")
    scene.press("Make a token")
    expect(scene.sees("hall").first).to_contain_text("coterie-agent join")


def revoke(scene: Scene) -> None:
    name = scene.device("ready")
    scene.press_and_confirm("Revoke")
    expect(scene.page.get_by_role("main")).to_contain_text("revoked")
    expect(scene.page.get_by_role("heading", level=1)).to_contain_text(name)


def make_a_federation(scene: Scene) -> None:
    make_one_from(scene, PRESET_WITH_DATA, scene.named("Trial"))


def make_one_from(scene: Scene, preset: str, name: str, *, pair: str = "") -> None:
    """A federation that begins with a published system; of the pair that the form offers first, or of that one."""
    begin_with(scene, preset, name)
    if pair:
        scene.hand.choose(scene.field("Model pair"), scene.page.get_by_role("option", name=pair, exact=True))
    scene.press("Create")
    expect(scene.page.get_by_role("heading", level=1, name=name, exact=True)).to_be_visible()


def begin_with(scene: Scene, preset: str, name: str) -> None:
    """The form of a new federation, filled from a published system."""
    scene.go("Federations")
    scene.hand.press(scene.page.get_by_role("link", name="New federation"))
    expect(scene.page.get_by_role("heading", level=1, name="New federation")).to_be_visible()
    scene.hand.type(scene.page.get_by_label("Name", exact=True), name)
    choose_preset(scene, preset)


def choose_preset(scene: Scene, preset: str) -> None:
    """In the form of a new federation."""
    offered = scene.field("Begin with a published system")
    scene.hand.choose(offered, scene.page.get_by_role("option", name=re.compile(rf"^{re.escape(preset)}(?![\w+-])")))


def change_a_deadline(scene: Scene) -> None:
    _type_a_deadline(scene)
    scene.press("Change the plan")
    expect(scene.page.get_by_role("alert").filter(has_text="The next round has the changed plan")).to_be_visible()


def foresee(scene: Scene) -> None:
    _type_a_deadline(scene)
    expect(scene.page.get_by_role("status").filter(has_text="What the change will do")).to_be_visible()


def _type_a_deadline(scene: Scene) -> None:
    scene.federation("Wake word")
    scene.hand.press(scene.page.get_by_role("tab", name="Plan"))
    scene.hand.press(scene.page.get_by_role("button", name=re.compile("How many are asked")))
    field = scene.page.get_by_label("deadline", exact=True)
    scene.hand.type(field, "26 h" if field.input_value() == "25 h" else "25 h")


def pause_and_start(scene: Scene) -> None:
    scene.federation("Handwritten digits")
    scene.press("Pause")
    scene.press("Start")
    expect(scene.button("Pause")).to_be_visible()


def replay(scene: Scene) -> None:
    scene.go("Federations")
    scene.open("Federations", re.compile("^Round"), row="Shelf gaps")
    expect(scene.page.get_by_role("list", name="What each device did")).to_be_visible()


def compare(scene: Scene) -> None:
    scene.go("Models")
    scene.open("Model pairs", re.compile("^Version"), row="Handwritten digits")
    scene.hand.choose(scene.field("Compared with it"), scene.page.get_by_role("option").first)
    expect(scene.sees("Side by side")).to_contain_text("accuracy on held-out samples")


def roll_back(scene: Scene) -> None:
    scene.go("Models")
    scene.open("Model pairs", "Plant health")
    in_use = scene.page.get_by_role("table", name="Versions").get_by_role("row").filter(has_text="in use")
    expect(in_use.filter(has_text="device").first).to_be_visible()
    before = in_use.filter(has_text="device").first.inner_text()
    scene.press_and_confirm("Roll the devices back")
    expect(in_use.filter(has_text="device").first).not_to_have_text(before)


def try_a_version_first(scene: Scene) -> None:
    _open_another_version(scene)
    scene.press_and_confirm("Try it first")
    expect(_roll_out(scene)).to_be_visible()


def try_a_version_in_phases(scene: Scene) -> None:
    """The second share is watched longer than the first, and held to less."""
    _open_another_version(scene)
    scene.press("Try it first")
    dialog = scene.page.get_by_role("dialog")
    begin = dialog.get_by_role("button", name="Try it first", exact=True)
    scene.hand.type(dialog.get_by_label("reports"), "1")
    scene.hand.press(dialog.get_by_role("button", name="Add one", exact=True))
    expect(begin).to_have_attribute("aria-disabled", "true")
    phase = dialog.get_by_role("group", name="phases: 1 of 1", exact=True)
    for field, value in (("share", "0.5"), ("threshold", "0.01"), ("within", "2 h"), ("hold", "60 min")):
        scene.hand.type(phase.get_by_label(field, exact=True), value)
    course = (
        "10% for 60 min at most, then 50% for 60 min to 2 h, then everybody. It may be worse by 2%, then 1%. "
        "Where too few devices are there, it waits for 24 h at most."
    )
    expect(dialog.get_by_role("status")).to_have_text(course)
    scene.hand.press(begin)
    expect(_roll_out(scene)).to_be_visible()


def _open_another_version(scene: Scene) -> None:
    """One that devices do not use."""
    scene.go("Models")
    scene.open("Model pairs", scene.pair)
    rows = scene.page.get_by_role("table", name="Versions").get_by_role("row").filter(has_text="device")
    scene.hand.press(rows.filter(has_not_text="in use").get_by_role("link").first)


def _roll_out(scene: Scene) -> Locator:
    """The one that is under way."""
    return scene.page.get_by_role("group", name=re.compile("Roll-out of version"))


def see_who_helped(scene: Scene) -> None:
    scene.go("Help")
    expect(scene.sees("Who helped whom")).to_be_visible()


def see_groups(scene: Scene) -> None:
    scene.federation("Shelf gaps")
    scene.hand.press(scene.page.get_by_role("tab", name="Groups"))
    expect(scene.sees("Members")).to_be_visible()


def see_what_left_a_device(scene: Scene) -> None:
    scene.device("delivered")
    expect(scene.sees("What left the device")).to_contain_text("thirty days")


def ask_for_a_log(scene: Scene) -> None:
    name = _one_that_can_be_asked(scene)
    scene.go("Devices")
    scene.hand.type(scene.page.get_by_label("Name or id"), name)
    # Rows that are about to go take the press of those that come.
    expect(scene.page.get_by_role("table", name="Devices").get_by_role("row")).to_have_count(2)
    scene.open("Devices", name)
    scene.press("Ask for its log")
    dialog = scene.page.get_by_role("dialog")
    scene.hand.type(dialog.get_by_label("What for"), "It drops out of rounds.")
    scene.hand.press(dialog.get_by_role("button", name="Ask for it", exact=True))
    asked = re.compile("the last 24 hours .* asked")
    expect(scene.sees("Its log").get_by_role("row", name=asked)).to_be_visible()


def _one_that_can_be_asked(scene: Scene) -> str:
    """The name of a device that sends logs and has not been asked for one that is still to come."""
    for device in scene.listed("devices/?status=waiting"):
        asked = scene.listed(f"device-logs/?device={device['id']}")
        sends = scene.page.context.request.get(f"{scene.fleet.url}/api/devices/{device['id']}/sends-log/").json()
        if not asked and not sends["reason_code"]:
            return device["name"]
    raise AssertionError("no seeded device can be asked for its log")


def save_a_table(scene: Scene) -> None:
    scene.go("Devices")
    with scene.page.expect_download() as download:
        scene.hand.press(scene.page.get_by_role("link", name="CSV"))
    assert download.value.suggested_filename.endswith(".csv")


def make_a_token(scene: Scene) -> None:
    scene.go("Settings")
    scene.hand.press(scene.page.get_by_role("tab", name="API tokens"))
    scene.hand.type(scene.page.get_by_label("What it is for"), scene.named("export"))
    scene.press("Make a token")
    expect(scene.page.get_by_text("COTERIE_TOKEN=")).to_be_visible()


def make_a_webhook(scene: Scene) -> None:
    scene.go("Settings")
    scene.hand.press(scene.page.get_by_role("tab", name="Webhooks"))
    scene.hand.type(scene.page.get_by_label("Name", exact=True), scene.named("hook"))
    scene.hand.type(scene.page.get_by_label("Address", exact=True), "https://8.8.8.8/hook")
    scene.hand.choose(scene.field("It is told when"), scene.page.get_by_role("option").first)
    scene.press("Make a webhook")
    expect(scene.page.get_by_text(f"The secret of {scene.named('hook')} is shown once")).to_be_visible()


def invite(scene: Scene) -> None:
    scene.go("Settings")
    name = f"guest-{type(scene.hand).__name__.lower()}"
    scene.hand.type(scene.page.get_by_label("Name", exact=True), name)
    scene.press("Invite")
    expect(scene.page.get_by_text(f"Send {name} this link")).to_be_visible()


def see_who_changed_what(scene: Scene) -> None:
    scene.go("Audit")
    row = scene.page.get_by_role("table", name="Changes").get_by_role("row").filter(has_text=ADMINISTRATOR)
    scene.hand.press(row.get_by_role("button").first)
    expect(scene.page.get_by_role("dialog")).to_be_visible()


def see_why_a_job_failed(scene: Scene) -> None:
    scene.go("Jobs")
    scene.open("Jobs", re.compile("^Log:"), row="failed")
    expect(scene.page.get_by_role("dialog").get_by_text("failed").first).to_be_visible()


def upload_a_pair(scene: Scene) -> None:
    scene.go("Models")
    scene.hand.press(scene.page.get_by_role("link", name="Upload a pair"))
    expect(scene.page.get_by_role("heading", level=1, name="Upload a pair")).to_be_visible()
    scene.hand.type(scene.page.get_by_label("Name", exact=True), scene.named("Gestures"))
    scene.hand.give_file(scene.page.get_by_role("button", name="Device model"), str(scene.program))
    scene.hand.give_file(scene.page.get_by_role("button", name="Cloud model"), str(scene.program))
    classes = scene.field("Classes")
    for name in ("up", "down"):
        scene.hand.type(classes, name)
        scene.page.keyboard.press("Enter")
    scene.press("Upload and check")
    expect(scene.page.get_by_role("heading", level=1, name=scene.named("Gestures"))).to_be_visible()


def archive(scene: Scene) -> None:
    scene.federation(scene.named(TO_ARCHIVE))
    scene.press("Archive")
    expect(scene.button("Restore")).to_be_visible()


def see_which_agents_run(scene: Scene) -> None:
    scene.go("Agents")
    scene.open("Agent versions", "0.2.0")
    expect(scene.button("No longer only agent 0.2.0")).to_be_visible()
    expect(scene.page.get_by_role("table", name="Devices").get_by_role("row").nth(1)).to_be_visible()


def roll_a_release_out(scene: Scene) -> None:
    for rollout in scene.listed("agent-rollouts/?active=true"):
        scene.post(f"agent-rollouts/{rollout['id']}/stop/", {})
    scene.go("Agents")
    scene.hand.press(scene.page.get_by_role("link", name="Roll out a release"))
    expect(scene.page.get_by_role("heading", level=1, name="Roll out a release")).to_be_visible()
    scene.hand.type(scene.page.get_by_label("Phases"), "10, 50, 100")
    scene.hand.type(scene.page.get_by_label("Failures that are borne, %"), "20")
    scene.press("Roll out")
    expect(scene.page.get_by_role("heading", level=1, name="Agent 0.3.1")).to_be_visible()
    expect(scene.sees("The roll-out")).to_contain_text("10% now, then 50%, then 100%")


def roll_agents_back(scene: Scene) -> None:
    if not scene.listed("agent-rollouts/?active=true"):
        scene.post("agent-rollouts/", {"version": "0.3.1"})
    scene.go("Agents")
    scene.open("Roll-outs of agents", re.compile(r"^[0-9.]+$"), row="running")
    scene.press("Roll back")
    dialog = scene.page.get_by_role("dialog")
    scene.hand.type(dialog.get_by_label("Why"), scene.named("it drains batteries"))
    scene.hand.press(dialog.get_by_role("button", name="Roll back", exact=True))
    expect(scene.page.get_by_role("main")).to_contain_text(
        f"an operator has devices go back to the agent before: {scene.named('it drains batteries')}"
    )


class Task(NamedTuple):
    """What somebody wants, and what is pressed for it."""

    name: str
    presses: int
    do: Callable[[Scene], None]


TASKS = (
    Task("sign in", 1, sign_in),
    Task("see what is wrong", 0, see_what_is_wrong),
    Task("see why a device does not train", 2, see_why_a_device_does_not_train),
    Task("enrol a device", 2, enrol),
    Task("revoke a device", 4, revoke),
    Task("make a federation from a preset", 5, make_a_federation),
    Task("change a deadline", 5, change_a_deadline),
    Task("foresee what a change does", 4, foresee),
    Task("pause and start a federation", 4, pause_and_start),
    Task("replay a round", 2, replay),
    Task("compare two versions", 4, compare),
    Task("roll back", 4, roll_back),
    Task("try a version on a canary group", 5, try_a_version_first),
    Task("see who helped whom", 1, see_who_helped),
    Task("see the groups of a federation", 3, see_groups),
    Task("see what left a device", 2, see_what_left_a_device),
    Task("ask for a device's log", 4, ask_for_a_log),
    Task("save a table as CSV", 2, save_a_table),
    Task("make a token for a program", 3, make_a_token),
    Task("make a webhook", 5, make_a_webhook),
    Task("invite a person", 2, invite),
    Task("see who changed what", 2, see_who_changed_what),
    Task("see why a job failed", 2, see_why_a_job_failed),
    Task("upload a pair", 5, upload_a_pair),
    Task("archive a federation", 3, archive),
    Task("see which devices run a release of the agent", 2, see_which_agents_run),
    Task("roll a release of the agent out", 3, roll_a_release_out),
    Task("roll agents back", 4, roll_agents_back),
)
