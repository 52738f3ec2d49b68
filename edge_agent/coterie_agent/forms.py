"""The forms of the held version: the smaller ones that the platform lists, and the prediction latency of each."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from coterie_agent.blobs import BlobCache
from coterie_agent.config import Config
from coterie_agent.link.http import HttpLink
from coterie_agent.model import held_manifest
from coterie_agent.situation import Now, Situation
from coterie_agent.store.latencies import DAY_S, MeasuredDurations
from coterie_agent.store.opened import Store
from coterie_agent.variants import FLOAT32, take_forms
from coterie_wire.bundle import Manifest, SignedManifest
from coterie_wire.latency import Histogram, Work
from coterie_wire.variants import digest_of


@dataclass(kw_only=True)
class Forms:
    """The forms of the held version that are downloaded and timed."""

    config: Config
    store: Store
    blobs: BlobCache
    variants: BlobCache
    """Graphs of smaller forms."""
    link: HttpLink
    situation: Situation
    must_stop: Callable[[], bool]
    """Whether timing must stop now."""
    _refused: SignedManifest | None = None
    """A list that cannot be used; it is not tried again."""
    _has_run: bool = False
    """Whether a model has run in this process: only then is one timed, as loading the first takes 30 MB."""
    _timed: str | None = None
    """The version whose predictions have been timed, or need not be."""
    _timed_at: float = 0.0
    """On the monotonic clock."""

    def listed(self, now: Now) -> SignedManifest | None:
        """A list of forms from the platform that the device has neither taken nor refused; None: there is none."""
        forms = now.directive.variants if now.directive else None
        if forms is None or now.version is None or forms == self._refused or digest_of(forms) == now.forms:
            return None
        return forms

    def take(self, signed: SignedManifest) -> None:
        """Download and time what the list names. Raises AgentError and WireError."""
        known = take_forms(
            signed,
            held_manifest(self.store),
            platform_keys=self.store.identity.trusted(),
            blobs=self.blobs,
            variants=self.variants,
            download=self.link.download,
            threads=self.config.serving.threads,
            within_s=self.config.serving.run_ms / 1000,
            stop=self.situation.is_offline,
        )
        if known is not None:
            self.store.variants.keep(known)
            manifest = held_manifest(self.store)
            for form, durations in known.forms.items():
                self.keep(manifest, "predict", form, durations)
            self._note_timed(manifest.version)
            self.situation.set_forms(known.digest)

    def refuse(self, signed: SignedManifest) -> None:
        """Use none of the forms that the list names."""
        self._refused = signed

    def note_run(self) -> None:
        """Note that a model runs in this process."""
        self._has_run = True

    def is_untimed(self, now: Now) -> bool:
        """Whether predictions of the held version are to be timed."""
        is_old = time.monotonic() - self._timed_at >= DAY_S
        return self._has_run and now.version is not None and (now.version != self._timed or is_old)

    def time(self) -> None:
        """Measure how long predictions of the held version take, unless those of its pair were timed within a day."""
        from coterie_agent.training.forms import measure_form  # only here: NumPy and onnxruntime take 30 MB
        from coterie_agent.training.model import Model
        from coterie_agent.training.predictor import Predictor

        manifest = held_manifest(self.store)
        if not self.store.latencies.has(manifest.pair, "predict", FLOAT32, since=time.time() - DAY_S):
            model, threads = Model(manifest, self.blobs), self.config.serving.threads
            predictor = Predictor(model.predict(), manifest.model, model.parameters(), model.frozen(), threads=threads)
            durations = measure_form(predictor, manifest.model, stop=self.must_stop)
            if durations is None:
                return
            self.keep(manifest, "predict", FLOAT32, durations)
        self._note_timed(manifest.version)

    def skip_timing(self) -> None:
        """Do not try again to time predictions of the held version."""
        self._note_timed(self.situation.now.version)

    def _note_timed(self, version: str | None) -> None:
        self._timed, self._timed_at = version, time.monotonic()

    def keep(self, manifest: Manifest, work: Work, form: str, durations: Histogram) -> None:
        """Store measured durations with the conditions under which they were measured."""
        conditions = self.situation.now.conditions
        self.store.latencies.add(
            MeasuredDurations(
                pair=manifest.pair,
                version=manifest.version,
                work=work,
                form=form,
                charging=conditions.charging,
                temperature_c=conditions.temperature_c,
                durations=durations,
            ),
            now=time.time(),
        )
