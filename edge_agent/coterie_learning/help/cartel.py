"""Cartel: a device whose model fails asks the most similar devices whose models do well on those classes.

Daga, Nicholson, Gavrilovska, Lugones 2019, doi 10.1145/3357223.3362708; portions of neural classifiers as in its
successor Canoe (arXiv 2108.12124).
"""

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from coterie_learning.detectors import DRIFT, AnyDetector
from coterie_learning.help import Help
from coterie_learning.kinds import Resources
from coterie_learning.portions.rules import Portion, portion_specs
from coterie_wire.bundle import ModelSpec
from coterie_wire.conditions import Reason
from coterie_wire.errors import WireError

if TYPE_CHECKING:
    from coterie_learning.plan import Plan


class Cartel(Help, frozen=True, tag="cartel"):
    """Model portions are sent directly between devices, on demand; each device otherwise trains alone.

    A batch is the model's batch size of newest samples, evaluated before the model trains on them.
    """

    detector: Annotated[AnyDetector, Meta(description="how a device tells that its model has begun to fail")] = (
        DRIFT.parse({"kind": "window"})
    )
    cool_down_batches: Annotated[
        int, Meta(ge=0, le=1_000_000, description="batches after a help request in which a device makes no other")
    ] = 5
    recent_batches: Annotated[
        int, Meta(ge=1, le=1000, description="newest batches that a request describes and that a portion is judged on")
    ] = 2
    window_batches: Annotated[
        int, Meta(ge=1, le=1000, description="newest batches that a device's metadata describes")
    ] = 10
    prior_shift: Annotated[
        float, Meta(ge=0, le=1, description="Jensen-Shannon divergence by which class shares move before they are told")
    ] = 0.05
    report_batches: Annotated[
        int, Meta(ge=1, le=1_000_000, description="batches after which metadata are told even if nothing moved")
    ] = 10
    noise_multiplier: Annotated[
        float,
        Meta(
            ge=0,
            le=1e3,
            description="z: standard deviation of the noise that a device adds to each count of its profiles and "
            "requests, in times √2, which is how far another sample in one's place moves them; 0: none",
        ),
    ] = 0.0
    troubled_recall: Annotated[
        float,
        Meta(
            ge=0,
            le=1,
            description="share of a class's samples found, for each sample that the model usually has right, below "
            "which the class is troubled",
        ),
    ] = 0.5
    troubled_samples: Annotated[
        int, Meta(ge=1, le=1_000_000, description="fewest recent samples of a class before it can be troubled")
    ] = 3
    largest_divergence: Annotated[
        float,
        Meta(ge=0, le=1, description="Jensen-Shannon divergence of class shares up to which devices are neighbours"),
    ] = 0.5
    helper_recall: Annotated[
        float,
        Meta(
            ge=0,
            le=1,
            description="least share that a helper finds of each troubled class; it finds more than who asks anyway",
        ),
    ] = 0.7
    helper_error: Annotated[
        float,
        Meta(
            ge=0,
            le=1,
            description="largest error rate of a helper over all classes; it errs no more than who asks anyway",
        ),
    ] = 0.2
    serves_at_once: Annotated[
        int, Meta(ge=1, le=10_000, description="requests that one helper serves at the same time")
    ] = 2
    neighbours_tried: Annotated[
        int, Meta(ge=1, le=100, description="helpers asked in turn before a request is given up")
    ] = 3
    match_s: Annotated[float, Meta(gt=0, le=1e6, description="seconds in which a helper must be found")] = 60.0
    deliver_s: Annotated[
        float, Meta(gt=0, le=1e6, description="seconds in which a helper must deliver its portion")
    ] = 300.0
    judge_s: Annotated[
        float, Meta(gt=0, le=1e6, description="seconds in which the portion must be fetched, merged and judged")
    ] = 3600.0
    portion: Annotated[
        Portion,
        Meta(
            description="what a helper sends: rows of the output layer, for models whose bodies are the same; rows and "
            "the body units that they lean on; or its whole model as an extra learner"
        ),
    ] = "head_and_units"
    share: Annotated[
        float, Meta(gt=0, le=1, description="share of body units, or of a forest's trees, that a portion holds")
    ] = 0.4

    def __post_init__(self) -> None:
        if self.recent_batches > self.window_batches:
            raise ValueError("recent_batches must not exceed window_batches")
        if self.noise_multiplier and not self.cool_down_batches:
            raise ValueError(
                "noise_multiplier needs cool_down_batches of 1 at least, or requests repeat what they tell"
            )

    def misfit(self, plan: "Plan", model: ModelSpec | None, resources: Resources | None) -> Reason | None:  # noqa: ARG002
        if self.portion == "learner" and resources is not None and resources.one_model:
            sentence = "portion learner is for devices whose models differ, and these share one"
            return Reason("plan.needs_unlike_models", sentence)
        if model is None:
            return None
        try:
            portion_specs(self, model, (0,))
        except WireError as error:
            return Reason(error.code, error.detail)
        return None

    def rules(self) -> "Cartel":
        return self
