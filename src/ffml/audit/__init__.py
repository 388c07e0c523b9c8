"""An audit of decisions that anybody made: metrics by group, gaps over time, a verdict.

Nothing is learned, and nothing here needs JAX.
"""

from ffml.audit._files import REPORT, audit_document, audit_folder, write_audit
from ffml.audit._judge import Audit, ColumnAudit, audit_decisions
from ffml.audit._limits import Limits

__all__ = [
    "REPORT",
    "Audit",
    "ColumnAudit",
    "Limits",
    "audit_decisions",
    "audit_document",
    "audit_folder",
    "write_audit",
]
