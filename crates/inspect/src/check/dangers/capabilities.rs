//! The Linux capabilities that a container gains.

use std::collections::BTreeSet;

use crate::check::values::{entries, is_true, text};
use smp_text::yaml::Node;

/// The capabilities that container runtimes grant by default.
const DEFAULT: [&str; 14] = [
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "NET_RAW",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
];

/// The name for all capabilities.
const ALL: &str = "ALL";

/// The capabilities that a container gains.
pub(super) struct Gained {
    /// Capabilities that only the new version adds.
    pub added: Vec<String>,
    /// Default capabilities that only the old version dropped.
    pub restored: Vec<String>,
}

/// Returns the capabilities that a container gains, given its `securityContext` before and after a change.
pub(super) fn gained_capabilities([old, new]: [Option<&Node>; 2]) -> Gained {
    let (before, after) = (effective(old), effective(new));
    let is_known = |name: &&String| before.contains(ALL) || before.contains(*name);
    let gained: Vec<String> = after.iter().filter(|name| !is_known(name)).cloned().collect();
    let (added, dropped) = (listed(new, "add"), listed(old, "drop"));
    let (added, restored): (Vec<_>, Vec<_>) = gained.into_iter().partition(|name| added.contains(name));
    let dropped_all = dropped.contains(ALL) && !restored.is_empty();
    Gained { added, restored: if dropped_all { vec![ALL.to_string()] } else { restored } }
}

fn effective(context: Option<&Node>) -> BTreeSet<String> {
    let (added, dropped) = (listed(context, "add"), listed(context, "drop"));
    if is_true(context.and_then(|context| context.get("privileged"))) || added.contains(ALL) {
        return BTreeSet::from([ALL.to_string()]);
    }
    if dropped.contains(ALL) {
        return added;
    }
    let all = DEFAULT.map(str::to_string).into_iter().chain(added);
    all.filter(|name| !dropped.contains(name)).collect()
}

/// Returns the names in a list, without the prefix `CAP_` that some manifests use.
fn listed(context: Option<&Node>, list: &str) -> BTreeSet<String> {
    let names = entries(context.and_then(|context| context.get_path(&["capabilities", list])));
    let name = |node: &Node| {
        let name = text(Some(node))?.to_ascii_uppercase();
        Some(name.strip_prefix("CAP_").unwrap_or(&name).to_string())
    };
    names.iter().filter_map(name).collect()
}
