//! Rule: network policy widened.

use std::collections::{BTreeSet, HashSet};
use std::net::IpAddr;

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    code: Code::Rule(&RuleText {
        name: "wider-network-policy",
        meaning: "A change removes a NetworkPolicy, lets it allow more traffic, or lets it cover fewer Pods.",
        remedy: "Keep the policy, and allow only specific peers and ports.",
    }),
    title: "Network policy widened",
    severity: Severity::Error,
    why: "Isolated Pods become reachable by other Pods, or can connect to more peers. A policy that is deleted together with its workloads is not reported.",
    suppress: Some(
        "The traffic is meant to be allowed. For a removed policy: another policy selects the same Pods. Policies are additive, so no other policy restricts what a widened one allows.",
    ),
    documentation: "https://kubernetes.io/docs/concepts/services-networking/network-policies/",
    bad: change!(
        BEFORE,
        "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: web}\nspec:\n  podSelector: {matchLabels: {app: web}}\n  policyTypes: [Ingress]\n  ingress: [{from: [{podSelector: {matchLabels: {app: shop}}}]}, {from: [{namespaceSelector: {}}]}]\n"
    ),
    good: change!(
        BEFORE,
        "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: web}\nspec:\n  podSelector: {matchLabels: {app: web}}\n  policyTypes: [Ingress]\n  ingress: []\n"
    ),
    finder: Finder::Change(find),
    ..DANGER
};

const BEFORE: &str = "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: web}\nspec:\n  podSelector: {matchLabels: {app: web}}\n  policyTypes: [Ingress]\n  ingress: [{from: [{podSelector: {matchLabels: {app: shop}}}]}]\n";

fn find(object: &ChangedObject<'_>) -> Vec<Danger> {
    if !object.is_kind("networking.k8s.io", &["NetworkPolicy"]) || object.old.is_none() {
        return Vec::new();
    }
    if object.new.is_none() {
        if object.is_deleted_with_pods(&["spec", "podSelector"]) {
            return Vec::new();
        }
        return vec![Danger::at(&["metadata", "name"], "the Pods lose the isolation of the policy")];
    }
    let mut found = Vec::new();
    for (direction, peers) in [("ingress", "from"), ("egress", "to")] {
        match [object.old, object.new].map(|policy| isolates(policy, direction)) {
            [true, true] => found.extend(wider_rules(object, direction, peers)),
            [true, false] => {
                found.push(Danger::at(
                    &["spec", "policyTypes"],
                    format!("the policy no longer restricts {direction}"),
                ));
            }
            [false, _] => {}
        }
    }
    let path = ["spec", "podSelector"];
    let [old, new] = object.values(&path).map(requirements);
    if !new.is_subset(&old) {
        found.push(Danger::at(&path, "the policy no longer covers some Pods"));
    }
    found
}

/// Returns true if a policy restricts a direction. Without `policyTypes`, a policy restricts egress only if it has
/// egress rules.
fn isolates(policy: Option<&Node>, direction: &str) -> bool {
    let spec = |field: &str| entries(policy.and_then(|policy| policy.get_path(&["spec", field])));
    match spec("policyTypes") {
        [] => direction == "ingress" || !spec("egress").is_empty(),
        types => types.iter().filter_map(|kind| text(Some(kind))).any(|k| k.eq_ignore_ascii_case(direction)),
    }
}

fn wider_rules(object: &ChangedObject<'_>, direction: &str, peers: &str) -> Vec<Danger> {
    let [old, new] = object.values(&["spec", direction]).map(|rules| allowed_lists(entries(rules), peers));
    let [old, new] = [&old, &new].map(|lists| lists.iter().flat_map(Allowed::pairs).collect::<Vec<_>>());
    let known: HashSet<Pair<'_>> = old.iter().filter_map(|pair| pair.including().next()).collect();
    let wider: HashSet<Pair<'_>> = old.iter().flat_map(|pair| pair.including().skip(1)).collect();
    // A peer that only replaces another one may allow less traffic.
    let has_more = new.len() > old.len();
    let is_wider = |pair: &&AllowedPair<'_>| {
        let Some(own) = pair.including().next() else { return false };
        let is_known = pair.including().any(|including| known.contains(&including));
        !is_known && (has_more || is_open(own.0) || wider.contains(&own))
    };
    let rules: BTreeSet<usize> = new.iter().filter(is_wider).map(|pair| pair.rule).collect();
    let danger = |rule: usize| {
        Danger::at(&["spec", direction, &rule.to_string()], format!("the policy allows more {direction}"))
    };
    rules.into_iter().map(danger).collect()
}

/// The texts of a peer and a port.
type Pair<'a> = (&'a str, &'a str);

/// The peers and ports of a rule. For each of them, a list contains its own text, followed by the texts of less
/// specific ones that include it.
struct Allowed {
    rule: usize,
    peers: Vec<Vec<String>>,
    ports: Vec<Vec<String>>,
}

impl Allowed {
    fn pairs(&self) -> impl Iterator<Item = AllowedPair<'_>> {
        let pairs = self.peers.iter().flat_map(|peer| self.ports.iter().map(move |port| (peer, port)));
        pairs.map(|(peer, port)| AllowedPair { rule: self.rule, peer, port })
    }
}

/// A peer and a port that a rule allows.
struct AllowedPair<'a> {
    rule: usize,
    peer: &'a [String],
    port: &'a [String],
}

impl<'a> AllowedPair<'a> {
    /// Returns the pair itself, followed by the less specific pairs.
    fn including(&self) -> impl Iterator<Item = Pair<'a>> {
        let port = self.port;
        self.peer.iter().flat_map(move |peer| port.iter().map(move |port| (peer.as_str(), port.as_str())))
    }
}

fn allowed_lists(rules: &[Node], peers: &str) -> Vec<Allowed> {
    // If the list is absent, all peers or ports are allowed.
    let or_all = |all: Vec<Vec<String>>| if all.is_empty() { vec![vec![ALL.to_string()]] } else { all };
    let list = |(rule, node): (usize, &Node)| Allowed {
        rule,
        peers: or_all(entries(node.get(peers)).iter().map(peers_including).collect()),
        ports: or_all(entries(node.get("ports")).iter().map(ports_including).collect()),
    };
    rules.iter().enumerate().map(list).collect()
}

/// The text that represents all peers, and all ports.
const ALL: &str = "";

/// The text that represents all Pods of all namespaces.
const ALL_PODS: &str = "{} {}";

fn is_open(peer: &str) -> bool {
    peer == ALL || peer == ALL_PODS || peer.contains("/0 ")
}

fn ports_including(port: &Node) -> Vec<String> {
    let field = |name: &str| text(port.get(name)).unwrap_or_default();
    let protocol = text(port.get("protocol")).unwrap_or("TCP");
    let all = format!("{protocol} ");
    let own = format!("{all}{}-{}", field("port"), field("endPort"));
    let own = if port.get("port").is_none() { all.clone() } else { own };
    vec![own, all, ALL.to_string()]
}

fn peers_including(peer: &Node) -> Vec<String> {
    let mut all = match peer.get("ipBlock") {
        Some(block) => blocks_including(block),
        None => pods_including(peer),
    };
    all.push(ALL.to_string());
    all
}

/// Returns the texts of an address block, and of the larger blocks that contain it.
fn blocks_including(block: &Node) -> Vec<String> {
    let cidr = text(block.get("cidr")).unwrap_or_default();
    let except = block.get("except").map(|except| except.to_json_value().to_string()).unwrap_or_default();
    let mut all = vec![format!("{cidr} {except}")];
    let parsed = cidr.split_once('/').map(|(address, length)| (address.parse(), length.parse::<u32>()));
    if let Some((Ok(address), Ok(length))) = parsed {
        let (bits, width) = match address {
            IpAddr::V4(address) => (u128::from(u32::from(address)) << 96, 32),
            IpAddr::V6(address) => (u128::from(address), 128),
        };
        let masked = |length: u32| bits & u128::MAX.checked_shl(128 - length).unwrap_or(0);
        let lengths = (0..=length.min(width)).rev();
        all =
            lengths.clone().map(|length| format!("{width} {:x}/{length} {except}", masked(length))).collect();
        all.extend(lengths.map(|length| format!("{width} {:x}/{length} ", masked(length))));
    }
    all
}

/// Returns the texts of a peer that selects Pods, and of peers with fewer requirements.
fn pods_including(peer: &Node) -> Vec<String> {
    let pods = selectors_including(&requirements(peer.get("podSelector")));
    let namespaces = match peer.get("namespaceSelector") {
        Some(selector) => selectors_including(&requirements(Some(selector))),
        None => vec!["own".to_string(), "{}".to_string()],
    };
    pods.iter()
        .flat_map(|pods| namespaces.iter().map(move |namespace| format!("{pods} {namespace}")))
        .collect()
}

/// Returns the texts of a selector, of the selectors with one requirement less, and of the empty selector.
fn selectors_including(all: &BTreeSet<String>) -> Vec<String> {
    let without = |left_out: &String| all.iter().filter(|one| *one != left_out).collect::<BTreeSet<_>>();
    let own = (!all.is_empty()).then(|| all.iter().collect());
    let mut sets: Vec<BTreeSet<&String>> = own.into_iter().chain(all.iter().map(without)).collect();
    sets.push(BTreeSet::new());
    sets.dedup();
    sets.iter().map(|set| format!("{set:?}")).collect()
}
