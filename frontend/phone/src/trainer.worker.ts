/** The worker that is the device: one in the whole browser, by a Web Lock; a tab that is closed hands over to another. */
import { digits, PRIVACY_DEFAULT } from "./device/budget";
import type { OwnerChoices } from "./device/choices";
import { Consent } from "./device/consent";
import { capabilitiesOf, Device } from "./device/device";
import { exportDevice } from "./device/exporting";
import { reasonOf } from "./device/failure";
import { QUESTIONS_DEFAULT } from "./device/fleet_answers";
import { useRuntime } from "./device/graph";
import { Link } from "./device/link";
import { OWNER_DEFAULT } from "./device/policy";
import { readSamples } from "./device/samples";
import { PEERS_DEFAULT } from "./device/sharing";
import { type Answers, checkSource } from "./device/sources";
import { Store } from "./device/store";
import { ASK_POLICY } from "./learning/labelling";
import { CHANNEL, type Command, type Joining, LOCK, type News, type Shown } from "./protocol";
import { type Conditions, Enrolled, ForgetNews, PROTOCOL } from "./wire/messages";

const RECEIPTS_SHOWN = 100;
const FINISHED_SHOWN = 20;
const SHOWN_EVERY_S = 0.25;
const CHOICES: Required<OwnerChoices> = {
  policy: OWNER_DEFAULT,
  pausedUntil: 0,
  privacy: PRIVACY_DEFAULT,
  questions: QUESTIONS_DEFAULT,
  asks: ASK_POLICY,
  peers: PEERS_DEFAULT,
};

const channel = new BroadcastChannel(CHANNEL);
const tell = (news: News): void => postMessage(news);

class Trainer {
  private device: Device | null = null;
  private conditions: Conditions | null = null;

  constructor(
    private readonly store: Store,
    private readonly agent: string,
  ) {}

  async start(): Promise<void> {
    const identity = await this.store.get("identity");
    await this.stand(identity !== null);
    if (identity === null) return;
    const device = new Device(identity, this.store, capabilitiesOf(this.agent));
    this.device = device;
    if (this.conditions !== null) await device.observe(this.conditions);
    void this.show(device);
    device.run().catch((error) => device.situation.replace({ ending: reasonOf(error) }));
  }

  /** Returns what to tell the owner. Throws CodedError. */
  async obey(command: Command): Promise<string> {
    switch (command.do) {
      case "start":
        return "";
      case "observe":
        this.conditions = command.conditions;
        await this.device?.observe(command.conditions);
        return "";
      case "join":
        await this.join(command);
        return "This device has joined.";
      case "add":
        return await this.add(command.name, command.file);
      case "add-windows":
        await this.takeIn("motion", (sources) => sources.addWindows(command.windows, command.label));
        return "";
      case "add-pictures":
        await this.takeIn("pictures", (sources) => sources.addPictures(command.files, command.label));
        return command.label === null ? "They were added; you are asked about some." : "They were added.";
      case "add-text":
        return await this.addText(command.text);
      case "suggest": {
        const words = (await this.device?.sources.suggest(command.text)) ?? [];
        tell({ news: "suggested", text: command.text, words });
        return "";
      }
      case "export":
        return await this.export();
      case "choose":
        await this.store.choose(command.changes, CHOICES);
        await this.device?.look();
        return "Saved.";
      case "agree": {
        if (this.device === null) return "";
        const { epsilon, delta } = await this.device.budget.agree(command.federation);
        return `${command.federation} may tell epsilon ${digits(epsilon)} at delta ${delta}.`;
      }
      case "consent":
        await this.device?.consent.agree(command.agreed.scopes, command.agreed.read);
        this.device?.situation.wake();
        return "You have agreed; it takes part from the next round on.";
      case "change-consent":
        await this.device?.consent.change(command.part, command.taken, command.read);
        await this.device?.samplesChanged();
        await this.device?.look();
        return command.taken ? "You have taken it back; the device stops at its next check-in." : "It holds again.";
      case "answer-question":
        await this.device?.questions.answer(command.question, command.label);
        await this.device?.samplesChanged();
        return "Thank you.";
      case "undo-answer":
        await this.device?.questions.undo();
        await this.device?.samplesChanged();
        return "Undone: the question is there again.";
      case "snooze-questions":
        await this.device?.questions.snooze(command.until);
        return "Saved.";
      case "delete-samples":
        await this.store.deleteSamples();
        await this.device?.samplesChanged();
        return "All samples are deleted.";
      case "leave":
        await this.device?.leave();
        return await this.forget("This device has left; its samples are still here.");
      case "be-forgotten": {
        const news = (await this.device?.beForgotten()) ?? null;
        return await this.forget("The platform forgets this device; the samples are still here.", news);
      }
      case "read-receipt":
        return await this.readReceipt();
      case "read-damage":
        await this.store.drop("damage");
        if (this.device === null) await this.stand(false);
        return "It is not shown any more.";
      case "forget":
        return await this.forget("The platform is forgotten; the samples are still here.");
    }
  }

  private async forget(sentence: string, forgotten: ForgetNews | null = null): Promise<string> {
    await this.store.forgetDevice(forgotten);
    this.device = null;
    await this.stand(false);
    return sentence;
  }

  /** Tell the page whether the device has joined, and what there is to be said whether it has or not. */
  private async stand(joined: boolean): Promise<void> {
    const forgotten = await this.store.get("forgotten");
    tell({ news: "standing", joined, forgotten, damage: await this.store.damage() });
  }

  /** Ask what became of the device that was forgotten. Throws Unreachable or Refused. */
  private async readReceipt(): Promise<string> {
    const known = await this.store.get("forgotten");
    if (known === null) return "";
    const link = new Link(null, (what, bytes, body) => this.store.recordSent(what, bytes, body));
    const forgotten = await link.call("read-receipt", { receipt: known.receipt }, ForgetNews);
    await this.store.put("forgotten", forgotten);
    tell({ news: "forgotten", forgotten });
    return forgotten.done ? "It is done." : "It is not done yet.";
  }

  private async join({ token, drawn, name, agreed }: Joining): Promise<void> {
    await this.store.forgetDevice(); // what is left of one whose identity was damaged
    const link = new Link(drawn, (what, bytes, body) => this.store.recordSent(what, bytes, body));
    const capabilities = capabilitiesOf(this.agent);
    const enrolled = await link.call("enrol", { protocol: PROTOCOL, token, name, capabilities }, Enrolled);
    await new Consent(this.store).agree(agreed.scopes, agreed.read);
    await this.store.put("identity", {
      device: enrolled.device,
      name,
      credential: enrolled.credential,
      platformKeys: { current: enrolled.platform_key, former: [] },
      joinedAt: Date.now(),
    });
    await this.start();
  }

  private async add(name: string, file: Blob): Promise<string> {
    await checkSource(this.store, "files");
    const held = await this.store.held();
    const { labelled, unlabelled } = await readSamples(name, file, {
      features: held.samples === 0 ? null : held.features,
      classes: this.device?.classes() ?? 0,
    });
    await this.store.addSamples(labelled.map((one) => ({ ...one, source: "files" as const })));
    await this.store.addUnlabelled(unlabelled, "files");
    await this.device?.samplesChanged();
    const without = unlabelled.length === 0 ? "" : ` ${unlabelled.length} without a label: you are asked about some.`;
    return `Samples that were added: ${labelled.length}.${without}`;
  }

  private async takeIn(
    source: "motion" | "pictures",
    take: (sources: Device["sources"]) => Promise<Answers>,
  ): Promise<void> {
    if (this.device === null) return;
    tell({ news: "answered", source, answers: await take(this.device.sources) });
    await this.device.samplesChanged();
  }

  private async addText(text: string): Promise<string> {
    if (this.device === null) return "";
    const { added, unknown } = await this.device.sources.addText(text);
    await this.device.samplesChanged();
    const rest = unknown === 0 ? "" : ` ${unknown.toLocaleString()} are none that the model knows.`;
    return `${added.toLocaleString()} words were learned from; the text is not kept.${rest}`;
  }

  private async export(): Promise<string> {
    if (this.device === null) return "";
    const { document, isWhole } = await exportDevice(this.store, this.device);
    tell({ news: "exported", document });
    return isWhole
      ? "All that is known of this device is in the file."
      : "The platform does not answer: only what this browser keeps is in the file.";
  }

  /** Tell all pages of the device whenever it changes. */
  private async show(device: Device): Promise<void> {
    const { situation } = device;
    while (this.device === device) {
      const { edition } = situation.now;
      const shown = await this.shown(device);
      channel.postMessage({ news: "shown", shown } satisfies News);
      await new Promise((resolve) => setTimeout(resolve, SHOWN_EVERY_S * 1000));
      await situation.wait(edition, 5);
    }
  }

  private async shown(device: Device): Promise<Shown> {
    const { store } = this;
    const { now } = device.situation;
    const [
      choices,
      agreed,
      asked,
      held,
      finished,
      receipts,
      answered,
      spooled,
      inHand,
      labels,
      tuned,
      forms,
      told,
      damage,
      peers,
      sendsOwn,
    ] = await Promise.all([
      store.get("owner"),
      store.get("agreed"),
      device.consent.asked(),
      device.held(),
      store.finished(),
      store.receipts(RECEIPTS_SHOWN),
      store.answered(),
      store.get("spooled"),
      store.get("assignment"),
      device.questions.shown(),
      store.get("tuned"),
      device.knownForms(),
      device.budget.told(),
      store.damage(),
      device.peers(),
      device.sendsOwn(),
    ]);
    return {
      name: device.name,
      joinedAt: device.joinedAt,
      isOnline: now.isOnline,
      linkProblem: now.linkProblem,
      conditions: now.conditions,
      blockers: now.blockers,
      wait: now.directive?.wait ?? null,
      progress: now.progress,
      federation: inHand?.federation ?? finished[0]?.federation ?? null,
      asked: now.directive?.requirements ?? null,
      choices: choices ?? CHOICES,
      agreed: agreed ?? [],
      consentAsked: asked,
      federations: now.directive?.federations ?? [],
      samples: held.samples,
      aside: held.aside,
      counts: held.counts,
      labels,
      takes: now.takes,
      tuned,
      forms,
      sendsOwn,
      tuning: now.tuning,
      peers,
      finished: finished.slice(0, FINISHED_SHOWN),
      receipts,
      answered: answered.slice(0, FINISHED_SHOWN),
      privacy: spooled?.privacy ?? null,
      told,
      sumWait: now.sumWait,
      questionWait: now.questionWait,
      budgetWait: now.budgetWait,
      damage,
      ending: now.ending,
    };
  }
}

let trainer: Trainer | null = null;
const early: Command[] = [];

async function obey(command: Command): Promise<void> {
  if (trainer === null) {
    early.push(command);
    return;
  }
  try {
    const sentence = await trainer.obey(command);
    if (sentence !== "") tell({ news: "outcome", outcome: { of: command.do, problem: null, sentence } });
  } catch (error) {
    const problem = reasonOf(error);
    tell({ news: "outcome", outcome: { of: command.do, problem, sentence: problem.sentence } });
  }
}

async function begin(agent: string): Promise<void> {
  const hold = async (lock: Lock | null): Promise<unknown> => {
    if (lock === null) return null;
    const begun = new Trainer(await Store.open(), agent);
    await begun.start();
    trainer = begun;
    for (const command of early.splice(0)) await obey(command);
    return new Promise(() => {}); // for as long as the tab lives
  };
  if ((await navigator.locks.request(LOCK, { ifAvailable: true }, hold)) === null) {
    tell({ news: "elsewhere" });
    await navigator.locks.request(LOCK, hold);
  }
}

addEventListener("message", ({ data }: MessageEvent<Command>) => {
  if (data.do === "start") {
    useRuntime(data.runtime);
    void begin(data.agent);
  } else {
    void obey(data);
  }
});
