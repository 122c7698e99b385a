//! The policies that hold together, and which of them for what.

use std::sync::Arc;

use super::file::{Policy, PolicyProblem};
use super::rule::{Layer, PolicyRule};
use super::starter::starter;

/// The policies that hold for an agent: the person's and its repository's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policies {
    pub person: Option<Arc<Policy>>,
    pub repository: Option<Arc<Policy>>,
    /// Files that could not be used, and hold nothing that was read before: nothing is
    /// allowed then.
    pub broken: Vec<PolicyProblem>,
}

impl Policies {
    /// Every policy that is in force for commands and files.
    pub(super) fn all(&self) -> impl Iterator<Item = &Policy> {
        let with_starter = self.person.as_ref().is_some_and(|person| person.starter);
        let written = [self.person.as_deref(), self.repository.as_deref()];
        written
            .into_iter()
            .flatten()
            .chain(with_starter.then(starter))
    }

    /// Every rule in force for commands and files, in the order of its files.
    pub fn rules(&self) -> impl Iterator<Item = &PolicyRule> {
        self.all().flat_map(|policy| &policy.rules)
    }

    /// The rule of a name, also one of the starter policy for networks.
    #[must_use]
    pub fn rule(&self, name: &str) -> Option<&PolicyRule> {
        let mut all = self.rules().chain(&starter().rules);
        all.find(|rule| rule.name == name)
    }

    /// Every rule that holds for what goes out through the proxy.
    pub fn network_rules(&self) -> impl Iterator<Item = &PolicyRule> {
        let rules = self.of_networks().flat_map(|policy| &policy.rules);
        rules.filter(|rule| matches!(rule.layer(), Layer::Network | Layer::Rest))
    }

    /// Whether the person has said anything about networks.
    #[must_use]
    pub fn governs_networks(&self) -> bool {
        self.all().any(Policy::speaks_of_networks)
    }

    /// Those that hold for what goes out through the proxy. Without a word of the person
    /// about networks that is the starter policy: an agent without a model does nothing.
    pub(super) fn of_networks(&self) -> impl Iterator<Item = &Policy> {
        let person = self.person.as_deref();
        let own = person.filter(|person| person.starter || person.speaks_of_networks());
        let with_starter = own.is_none_or(|person| person.starter);
        let written = [person, self.repository.as_deref()];
        written
            .into_iter()
            .flatten()
            .chain(with_starter.then(starter))
    }
}
