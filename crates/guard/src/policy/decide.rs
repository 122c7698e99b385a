//! The decision about a use of a tool: what the rules on commands and files say, held
//! together with what its hosts come to.

use missiond_core::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::file::Policy;
use super::network::{NetworkDecision, Seen, broken, judge};
use super::policies::Policies;
use super::propose;
use super::reach::{Endpoint, Reach};
use super::rule::{Access, Layer, PolicyRule, Subject, is_known_file_tool};
use crate::permissions::{
    Argument, Effect, Meets, Request, Rule, Verdict, command_writes, decide, is_exact,
};

/// What was decided, why, and how it would be otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    pub effect: Effect,
    /// The names of the rules that decided: permission rules, and `policy.toml:12`.
    pub rules: Vec<String>,
    /// One sentence for a person.
    pub reason: String,
    /// The layer that decided, where one did.
    pub layer: Option<Layer>,
    /// What a person would have to change for another outcome.
    pub change: Option<String>,
    /// What each layer says by itself.
    pub considered: Vec<Considered>,
}

/// What one layer says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Considered {
    pub layer: Layer,
    /// What it is about: the command, a file, a host.
    pub subject: String,
    pub effect: Effect,
    pub rules: Vec<String>,
    pub reason: String,
}

impl Decision {
    /// The same as what permission rules come to.
    #[must_use]
    pub fn verdict(self) -> Verdict {
        Verdict {
            effect: self.effect,
            rules: self.rules,
            reason: self.reason,
        }
    }
}

/// Everything that decides at one moment: permission rules and grants, and the policies.
#[derive(Debug, Clone)]
pub struct InForce {
    /// Those that hold for commands, and behind them rules on writing alone: what a
    /// command writes is looked at more closely.
    rules: Vec<Rule>,
    for_commands: usize,
    policies: Policies,
    now: Timestamp,
}

impl InForce {
    #[must_use]
    pub fn new(mut rules: Vec<Rule>, policies: Policies, now: Timestamp) -> Self {
        let (apart, all): (Vec<_>, Vec<_>) = policies.rules().partition(|rule| is_on_writing(rule));
        rules.extend(all.into_iter().filter_map(PolicyRule::permission));
        let for_commands = rules.len();
        rules.extend(apart.into_iter().filter_map(PolicyRule::permission));
        Self {
            rules,
            for_commands,
            policies,
            now,
        }
    }

    #[must_use]
    pub fn policies(&self) -> &Policies {
        &self.policies
    }

    /// What all of it says to a request.
    #[must_use]
    pub fn decide(&self, request: &Request) -> Decision {
        let is_command = matches!(request.argument, Some(Argument::Command(_)));
        let rules = if is_command {
            &self.rules[..self.for_commands]
        } else {
            &self.rules
        };
        let verdict = decide(rules, request, self.now);
        let reach = Reach::of(request);
        let hosts = self.hosts(&reach);
        let own = self.of_verdict(&verdict, request);
        let mut considered = vec![Considered {
            layer: own.layer.unwrap_or(Layer::Shell),
            subject: subject(request),
            effect: own.effect,
            rules: own.rules.clone(),
            reason: own.reason.clone(),
        }];
        considered.extend(hosts.iter().map(|(host, decided)| Considered {
            layer: decided.layer,
            subject: host.clone(),
            effect: decided.effect,
            rules: decided.rules.clone(),
            reason: decided.reason.clone(),
        }));
        let decision = self.together(request, own, &verdict, &reach, &hosts);
        Decision {
            considered,
            ..decision
        }
    }

    /// The same for a request that a screen alone shows: only rules that say that this is
    /// enough for them allow it.
    #[must_use]
    pub fn decide_by_sight(&self, request: &Request) -> Decision {
        let kept = |rule: &&Rule| rule.effect != Effect::Allow || rule.scope.by_sight;
        let (for_commands, apart) = self.rules.split_at(self.for_commands);
        let mut rules: Vec<Rule> = for_commands.iter().filter(kept).cloned().collect();
        let for_commands = rules.len();
        rules.extend(apart.iter().filter(kept).cloned());
        let seen = Self {
            rules,
            for_commands,
            policies: self.policies.clone(),
            now: self.now,
        };
        let decision = seen.decide(request);
        let by_sight = |name: &String| {
            let mut rules = seen.rules.iter();
            rules.any(|rule| rule.name == *name && rule.scope.by_sight)
        };
        if decision.effect != Effect::Allow || decision.rules.iter().all(by_sight) {
            return decision;
        }
        Decision {
            effect: Effect::Ask,
            rules: Vec::new(),
            reason: "no rule allows it by sight".to_owned(),
            ..decision
        }
    }

    fn together(
        &self,
        request: &Request,
        own: Decision,
        verdict: &Verdict,
        reach: &Reach,
        hosts: &[(String, NetworkDecision)],
    ) -> Decision {
        if own.effect == Effect::Deny {
            return own;
        }
        let first = |effect: Effect| {
            let mut found = hosts.iter().map(|(_, decided)| decided);
            found.find(|decided| decided.effect == effect && !decided.rules.is_empty())
        };
        if let Some(denied) = first(Effect::Deny) {
            return of_network(denied);
        }
        let written = self.written(request);
        if let Some((rule, Effect::Deny)) = written {
            return self.by_writing(rule, Effect::Deny);
        }
        if let Some(rule) = self.foreign_tool(request) {
            return self.asked_by(rule);
        }
        // A rule that asks wins over those that allow.
        if own.effect == Effect::Ask && !own.rules.is_empty() {
            return own;
        }
        if let Some((rule, effect)) = written {
            return self.by_writing(rule, effect);
        }
        if let Some(asked) = first(Effect::Ask) {
            return of_network(asked);
        }
        if own.effect == Effect::Allow {
            return self.allowed(own, verdict, reach, hosts);
        }
        let all_known = reach.unknown.is_none() && !reach.endpoints.is_empty();
        let all_allowed = hosts
            .iter()
            .all(|(_, decided)| decided.effect == Effect::Allow);
        if reach.only_fetches && all_known && !hosts.is_empty() {
            let Some((_, unknown)) = hosts.iter().find(|(_, one)| one.effect == Effect::Ask) else {
                return if all_allowed {
                    self.fetched(hosts)
                } else {
                    own
                };
            };
            return of_network(unknown);
        }
        own
    }

    /// What rules allow, unless a host that it names is not.
    fn allowed(
        &self,
        own: Decision,
        verdict: &Verdict,
        reach: &Reach,
        hosts: &[(String, NetworkDecision)],
    ) -> Decision {
        if let Some(problem) = self.policies.broken.first() {
            return of_network(&broken(problem, own.layer.unwrap_or(Layer::Shell)));
        }
        // Of what a person has seen word by word nothing is in doubt.
        let seen = verdict.rules.iter().all(|name| {
            let rule = self.rules.iter().find(|rule| rule.name == *name);
            rule.is_some_and(is_exact)
        });
        if seen || !self.policies.governs_networks() {
            return own;
        }
        if let Some((_, unknown)) = hosts.iter().find(|(_, one)| one.effect == Effect::Ask) {
            return of_network(unknown);
        }
        match &reach.unknown {
            Some(what) => Decision {
                effect: Effect::Ask,
                rules: Vec::new(),
                reason: format!("which host it reaches cannot be told: {what}"),
                layer: Some(Layer::Network),
                change: Some("name the host where the command is written".to_owned()),
                considered: Vec::new(),
            },
            None => own,
        }
    }

    /// A tool that does nothing but fetch what every layer of networks allows.
    fn fetched(&self, hosts: &[(String, NetworkDecision)]) -> Decision {
        if let Some(problem) = self.policies.broken.first() {
            return of_network(&broken(problem, Layer::Network));
        }
        let mut rules: Vec<String> = Vec::new();
        for rule in hosts.iter().flat_map(|(_, decided)| &decided.rules) {
            if !rules.contains(rule) {
                rules.push(rule.clone());
            }
        }
        let reasons: Vec<&str> = hosts.iter().map(|(_, one)| one.reason.as_str()).collect();
        Decision {
            effect: Effect::Allow,
            reason: reasons.join("; "),
            rules,
            layer: Some(Layer::Network),
            change: None,
            considered: Vec::new(),
        }
    }

    /// What each host of a request comes to. What is only mentioned matters where a rule
    /// speaks against it.
    fn hosts(&self, reach: &Reach) -> Vec<(String, NetworkDecision)> {
        if reach.is_nothing() {
            return Vec::new();
        }
        let policies: Vec<&Policy> = self.policies.all().collect();
        let one = |endpoint: &Endpoint| {
            let name = match endpoint.port {
                Some(port) => format!("{}:{port}", endpoint.host),
                None => endpoint.host.to_string(),
            };
            (name, judge(&policies, endpoint, Seen::All))
        };
        let mut decided: Vec<(String, NetworkDecision)> = reach.endpoints.iter().map(one).collect();
        let against = reach.mentioned.iter().map(one);
        decided.extend(
            against.filter(|(_, one)| one.effect != Effect::Allow && !one.rules.is_empty()),
        );
        decided
    }

    /// The verdict of the permission rules, in the words of the policy where those decided.
    fn of_verdict(&self, verdict: &Verdict, request: &Request) -> Decision {
        let of_policy: Vec<&PolicyRule> = verdict
            .rules
            .iter()
            .filter_map(|name| self.policies.rules().find(|rule| rule.name == *name))
            .collect();
        let mut reason = verdict.reason.clone();
        if !of_policy.is_empty() {
            let said = verdict.rules.iter().filter_map(|name| {
                if let Some(rule) = of_policy.iter().find(|rule| rule.name == *name) {
                    return Some(format!("{name}: {}", rule.sentence()));
                }
                let rule = self.rules.iter().find(|rule| rule.name == *name)?;
                Some(format!("{name}: {}", rule.sentence()))
            });
            let said: Vec<String> = said.collect();
            let doubted = verdict.reason.starts_with("it may fall under ");
            reason = if doubted {
                format!("it may fall under {}", said.join("; "))
            } else {
                said.join("; ")
            };
        }
        let layer = of_policy.first().map(|rule| rule.layer());
        let by_kind = || match &request.argument {
            Some(Argument::Command(_)) => Some(Layer::Shell),
            _ if !request.paths.is_empty() => Some(Layer::Files),
            _ => None,
        };
        Decision {
            effect: verdict.effect,
            rules: verdict.rules.clone(),
            reason,
            layer: layer.or_else(by_kind),
            change: self.change(verdict, request),
            considered: Vec::new(),
        }
    }

    fn change(&self, verdict: &Verdict, request: &Request) -> Option<String> {
        if verdict.effect == Effect::Allow {
            return None;
        }
        if let Some(name) = verdict.rules.first() {
            let built_in = name.starts_with("built-in-");
            let stored = name.starts_with("P-");
            return Some(if built_in {
                "nothing: agents stay away from what the daemon keeps of them".to_owned()
            } else if stored {
                format!("remove it: `mission permission remove {name}`")
            } else if name.starts_with("config-") {
                format!("take {name} out of [[permissions.rules]] in config.toml")
            } else {
                format!("change {name}; an allowing rule does not win over it")
            });
        }
        let proposed = match &request.argument {
            Some(Argument::Command(command)) => propose::pattern(command),
            _ => None,
        };
        Some(match (proposed, &request.argument, request.paths.first()) {
            (Some(pattern), ..) => {
                format!(
                    "put `allow = \"{pattern}\"` under [[shell]] in policy.toml, or answer it once"
                )
            }
            (None, Some(Argument::Command(_)), _) => {
                "answer it once: no rule short of the whole command would be safe to propose"
                    .to_owned()
            }
            (None, _, Some(path)) => {
                format!(
                    "put `allow = \"{path}\"` under [[files]] in policy.toml, or answer it once"
                )
            }
            _ => "add a rule with `mission permission add`, or answer it once".to_owned(),
        })
    }

    /// The rule on writing that a command falls under, surely or perhaps.
    fn written(&self, request: &Request) -> Option<(&PolicyRule, Effect)> {
        let met = self.policies.rules().filter_map(|rule| {
            let Subject::Files { path, .. } = &rule.subject else {
                return None;
            };
            if !is_on_writing(rule) {
                return None;
            }
            match command_writes(request, path)? {
                Meets::No => None,
                Meets::Maybe => Some((rule, Effect::Ask)),
                Meets::Yes => Some((rule, rule.effect)),
            }
        });
        met.max_by_key(|(_, effect)| *effect)
    }

    fn by_writing(&self, rule: &PolicyRule, effect: Effect) -> Decision {
        let perhaps = if effect == rule.effect {
            ""
        } else {
            "it may fall under "
        };
        Decision {
            effect,
            rules: vec![rule.name.clone()],
            reason: format!("{perhaps}{}: {}", rule.name, rule.sentence()),
            layer: Some(Layer::Files),
            change: Some(format!(
                "change {}; an allowing rule does not win over it",
                rule.name
            )),
            considered: Vec::new(),
        }
    }

    /// A rule on reading or on writing alone that a tool which nobody knows may break.
    fn foreign_tool(&self, request: &Request) -> Option<&PolicyRule> {
        let tool = request.tool.as_deref()?;
        let command = matches!(request.argument, Some(Argument::Command(_)));
        if command || (request.server.is_none() && is_known_file_tool(tool)) {
            return None;
        }
        self.policies.rules().find(|rule| match &rule.subject {
            Subject::Files { path, access } => {
                rule.effect != Effect::Allow
                    && *access != Access::Both
                    && request
                        .paths
                        .iter()
                        .any(|one| path.matches(one, &request.base))
            }
            _ => false,
        })
    }

    fn asked_by(&self, rule: &PolicyRule) -> Decision {
        Decision {
            effect: Effect::Ask,
            rules: vec![rule.name.clone()],
            reason: format!(
                "whether the tool reads or writes is not known, and it may fall under {}: {}",
                rule.name,
                rule.sentence()
            ),
            layer: Some(rule.layer()),
            change: Some(format!("change {}", rule.name)),
            considered: Vec::new(),
        }
    }
}

/// Rules against writing, which say nothing about reading.
fn is_on_writing(rule: &PolicyRule) -> bool {
    let writing = matches!(
        rule.subject,
        Subject::Files {
            access: Access::Write,
            ..
        }
    );
    writing && rule.effect != Effect::Allow
}

fn of_network(decided: &NetworkDecision) -> Decision {
    Decision {
        effect: decided.effect,
        rules: decided.rules.clone(),
        reason: decided.reason.clone(),
        layer: Some(decided.layer),
        change: decided.change.clone(),
        considered: Vec::new(),
    }
}

fn subject(request: &Request) -> String {
    let tool = request.tool.as_deref().unwrap_or("a tool");
    let what = match (&request.argument, request.paths.first()) {
        (Some(argument), _) => argument.text(),
        (None, Some(path)) => path,
        (None, None) => "",
    };
    let what: String = what.chars().take(200).collect();
    format!("{tool} {what}").trim_end().to_owned()
}
