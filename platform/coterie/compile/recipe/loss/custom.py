"""A loss of your own: a PyTorch function of output and target, exported as a program beside the models."""

from typing import Annotated, Literal

from msgspec import Meta

from coterie.compile.recipe.loss import Loss


class Custom(Loss, frozen=True, tag="custom"):
    """Its program gives a number for each sample; weights, the teacher's and the proximal term are added as to any.

    `coterie.compile.loss_program` joins the two; what a target must be is read off the program.
    """

    task: Annotated[
        Literal["classes", "labels", "values"],
        Meta(description="what the output is, and so which samples are right: classes, labels, or none of it"),
    ] = "values"
    whole_batches: Annotated[
        bool,
        Meta(
            description="whether the loss of a sample depends on the others of its batch, as in contrastive learning; "
            "then a step on a batch that is not full changes nothing"
        ),
    ] = False
