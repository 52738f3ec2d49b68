"""Log lines as JSON objects, one a line, for log collectors."""

import json
import logging
from datetime import UTC, datetime

from coterie.core.log_context import about


class JsonLines(logging.Formatter):
    """Time (RFC 3339, UTC), level, logger, message, what the line is about, and the traceback where there is one."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **about(),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)
