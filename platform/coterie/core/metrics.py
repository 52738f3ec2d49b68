"""What this process counts for monitoring; `config.monitoring` exports it. No label ever names a device or a person."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

REGISTRY = CollectorRegistry()
ANSWER_BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
TASK_BUCKETS_S = (0.01, 0.1, 1, 10, 60, 600, 3600)

DEVICE_REQUESTS = Counter(
    "coterie_device_requests", "Requests of devices over HTTPS.", ["route", "status"], registry=REGISTRY
)
DEVICE_REQUEST_SECONDS = Histogram(
    "coterie_device_request_seconds",
    "From a device's request to the end of its answer.",
    ["route"],
    buckets=ANSWER_BUCKETS_S,
    registry=REGISTRY,
)
SITE_REQUESTS = Counter(
    "coterie_site_requests", "Requests of the REST API, the console and the admin.", ["status"], registry=REGISTRY
)
SITE_REQUEST_SECONDS = Histogram(
    "coterie_site_request_seconds",
    "From such a request to the end of its answer.",
    buckets=ANSWER_BUCKETS_S,
    registry=REGISTRY,
)
DEVICE_SOCKETS = Gauge("coterie_device_sockets", "Sockets of devices that this process holds.", registry=REGISTRY)
SOCKET_MESSAGES = Counter(
    "coterie_socket_messages", "Messages of devices over sockets.", ["route", "outcome"], registry=REGISTRY
)
UPLOADED_BYTES = Counter("coterie_uploaded_bytes", "Bytes of updates and portions that arrived.", registry=REGISTRY)
ROUND_STEPS = Counter("coterie_round_steps", "Rounds that this process took to a state.", ["to"], registry=REGISTRY)
CLOUD_ANSWERS = Counter(
    "coterie_cloud_answers",
    "Requests of devices for an answer of the platform to samples, by what became of them.",
    ["outcome"],
    registry=REGISTRY,
)
CLOUD_ANSWER_SECONDS = Histogram(
    "coterie_cloud_answer_seconds",
    "From such a request to its answer.",
    buckets=ANSWER_BUCKETS_S,
    registry=REGISTRY,
)
TASKS = Counter("coterie_tasks", "Background tasks that ended.", ["task", "outcome"], registry=REGISTRY)
TASK_SECONDS = Histogram(
    "coterie_task_seconds", "How long they ran.", ["task"], buckets=TASK_BUCKETS_S, registry=REGISTRY
)
STORAGE_FAILURES = Counter(
    "coterie_storage_failures", "Calls of the object storage that failed after all tries.", registry=REGISTRY
)
