"""Centralised training: all samples are uploaded; the model is sent to every device, or predicts in the cloud."""

from typing import Annotated, Literal

from msgspec import Meta

from coterie.simulation.baselines import Baseline


class Centralised(Baseline, frozen=True, tag="centralised"):
    """One model for everybody."""

    model: Annotated[
        Literal["device", "cloud"],
        Meta(description="the device model on what is new, or the cloud model anew on everything, cloud data included"),
    ] = "device"
    period_s: Annotated[
        float, Meta(ge=0, le=3650 * 86_400, description="seconds between two trainings; 0: as often as batches come")
    ] = 0.0
    answers: Annotated[
        Literal["device", "cloud"],
        Meta(description="where predictions are made: on devices, which get the model, or in the cloud (offloading)"),
    ] = "device"
    epochs: Annotated[int, Meta(ge=1, le=1000, description="passes over what is new")] = 1
    learning_rate: Annotated[float, Meta(gt=0, le=100, description="step size")] = 0.05
