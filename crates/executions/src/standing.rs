//! How a structured agent stands, beside the course of its work: what its account's
//! limits leave, what the conversation has cost, its plan, its mode and model. Agents
//! tell these again and again; only what differs from the last time becomes a fact.

use std::collections::BTreeMap;

use missiond_control::{AgentError, ControlEvent, Cost, Session, TurnEnd};
use missiond_core::List;
use missiond_journal::catalogue::{
    Fact, LimitWindow, Plan, PlanStep, RateLimits, SessionCost, Setting, SettingKind, limits,
};
use missiond_journal::{Observed, Text};

use super::facts;

/// Different things that are remembered; an agent that names more is told of again.
const MOST: usize = 32;

#[derive(Debug, Default)]
pub(super) struct Standing {
    /// By what it is of.
    last: BTreeMap<String, Fact>,
}

impl Standing {
    pub(super) fn observed(&mut self, event: &ControlEvent) -> Vec<Observed> {
        let told = match event {
            ControlEvent::SessionOpened(session) => settings(session),
            ControlEvent::ModeChanged { mode } => vec![setting(SettingKind::Mode, mode)],
            ControlEvent::ModelChanged { model } => vec![setting(SettingKind::Model, model)],
            ControlEvent::Plan(plan) => vec![("plan".to_owned(), of_plan(plan).into())],
            ControlEvent::UsageChanged(usage) => {
                let cost = usage.cost.as_ref().and_then(of_cost);
                let cost = cost.map(|cost| ("cost".to_owned(), cost.into()));
                cost.into_iter().collect()
            }
            ControlEvent::RateLimitsChanged(told) => {
                let id = told.id.as_ref().map_or("", |id| &id.text);
                vec![(format!("limits:{id}"), of_limits(told).into())]
            }
            ControlEvent::TurnEnded {
                end: TurnEnd::Limit(error),
                ..
            } => return vec![facts::fact(self.reached(error))],
            _ => return Vec::new(),
        };
        let news = told.into_iter().filter(|(of, fact)| self.is_news(of, fact));
        news.map(|(_, fact)| Observed::Fact(fact)).collect()
    }

    fn is_news(&mut self, of: &str, fact: &Fact) -> bool {
        if self.last.get(of) == Some(fact) {
            return false;
        }
        if self.last.len() >= MOST && !self.last.contains_key(of) {
            self.last.clear();
        }
        self.last.insert(of.to_owned(), fact.clone());
        true
    }

    /// The limit that has ended a turn, with what was told of those that are used up.
    fn reached(&self, error: &AgentError) -> RateLimits {
        let known = self.last.values().filter_map(|fact| match fact {
            Fact::RateLimits(limits) => Some(limits),
            _ => None,
        });
        let used_up = known.max_by_key(|limits| limits.resets_at());
        RateLimits {
            windows: used_up.map_or_else(List::default, |limits| limits.windows.clone()),
            reached: Some(facts::some_text(&error.message.text)),
            ended_turn: true,
        }
    }
}

fn settings(session: &Session) -> Vec<(String, Fact)> {
    let of = |kind: SettingKind, category: &str| {
        let mut settings = session.settings.iter();
        let of_kind = settings.find(|setting| {
            let known = setting.category.as_ref();
            known.is_some_and(|known| known.text == category)
        });
        of_kind.map(|found| setting(kind, &found.current))
    };
    let kinds = [(SettingKind::Mode, "mode"), (SettingKind::Model, "model")];
    let known = kinds.map(|(kind, category)| of(kind, category));
    known.into_iter().flatten().collect()
}

fn setting(of: SettingKind, value: &str) -> (String, Fact) {
    let value = facts::some_text(value);
    (format!("{of:?}"), Setting { of, value }.into())
}

fn of_plan(told: &missiond_control::Plan) -> Plan {
    let steps = told.steps.iter().filter_map(|step| {
        Some(PlanStep {
            text: Text::excerpt(&step.text.text)?,
            status: (&step.status).into(),
        })
    });
    let steps: Vec<_> = steps.take(limits::PLAN_STEPS).collect();
    Plan {
        steps: List::new(steps).unwrap_or_default(),
    }
}

fn of_cost(told: &Cost) -> Option<SessionCost> {
    Some(SessionCost {
        amount: Text::excerpt(&told.decimal()?)?,
        currency: facts::some_text(&told.currency.text),
    })
}

fn of_limits(told: &missiond_control::RateLimits) -> RateLimits {
    let windows = told.windows.iter().map(|window| LimitWindow {
        name: facts::some_text(&window.name),
        used_percent: window.percent(),
        minutes: window.minutes,
        resets_at: window.resets_at,
    });
    let windows: Vec<_> = windows.take(limits::LIMIT_WINDOWS).collect();
    let reached = told.reached.as_ref();
    RateLimits {
        windows: List::new(windows).unwrap_or_default(),
        reached: reached.and_then(|reached| Text::excerpt(&reached.text)),
        ended_turn: false,
    }
}

#[cfg(test)]
mod tests {
    use missiond_control::{Clipped, StepStatus, Usage};
    use missiond_core::{AgentStepStatus, Timestamp};
    use serde_json::{Value, json};

    use super::*;

    fn words(text: &str) -> Clipped {
        Clipped::new(text, 10_000)
    }

    fn told(standing: &mut Standing, event: &ControlEvent) -> Vec<Value> {
        let observed = standing.observed(event).into_iter();
        observed
            .map(|observed| serde_json::to_value(observed).unwrap()["fact"].take())
            .collect()
    }

    fn window(name: &str, used: f64, resets_at: i64) -> missiond_control::LimitWindow {
        missiond_control::LimitWindow {
            name: name.to_owned(),
            used_percent: Some(used),
            minutes: Some(300),
            resets_at: Some(Timestamp::from_micros(resets_at)),
        }
    }

    fn limits_changed(windows: Vec<missiond_control::LimitWindow>) -> ControlEvent {
        ControlEvent::RateLimitsChanged(missiond_control::RateLimits {
            id: Some(words("codex")),
            plan: None,
            windows,
            reached: None,
        })
    }

    #[test]
    fn what_is_told_again_is_no_news() {
        let mut standing = Standing::default();
        let mode = |mode: &str| ControlEvent::ModeChanged {
            mode: mode.to_owned(),
        };
        let expected = json!({"type": "setting", "payload": {"of": "mode", "value": "ask"}});
        assert_eq!(told(&mut standing, &mode("ask")).first(), Some(&expected));
        assert!(told(&mut standing, &mode("ask")).is_empty());
        assert_eq!(told(&mut standing, &mode("code")).len(), 1);
        assert_eq!(told(&mut standing, &mode("ask")), [expected]);

        let cost = |amount: f64| {
            ControlEvent::UsageChanged(Usage {
                cost: Some(Cost {
                    amount,
                    currency: words("USD"),
                }),
                ..Usage::default()
            })
        };
        let expected = json!({"type": "cost", "payload": {"amount": "0.0125", "currency": "USD"}});
        assert_eq!(told(&mut standing, &cost(0.0125)), [expected]);
        assert!(told(&mut standing, &cost(0.0125)).is_empty());
        for nonsense in [f64::NAN, f64::INFINITY, -1.0] {
            assert!(
                told(&mut standing, &cost(nonsense)).is_empty(),
                "{nonsense}"
            );
        }
    }

    #[test]
    fn a_plan_is_kept_within_bounds() {
        let step = |text: &str| missiond_control::PlanStep {
            text: words(text),
            status: StepStatus::Running,
            priority: None,
        };
        let plan = |steps| {
            ControlEvent::Plan(missiond_control::Plan {
                id: None,
                explanation: None,
                steps,
            })
        };
        let mut standing = Standing::default();
        let long = "x".repeat(5_000);
        let observed = standing.observed(&plan(vec![step(&long); 1_000]));
        let [Observed::Fact(Fact::Plan(plan))] = &observed[..] else {
            panic!("{observed:?}");
        };
        assert_eq!(plan.steps.len(), limits::PLAN_STEPS);
        assert_eq!(plan.steps[0].text.chars().count(), limits::LABEL);
        assert_eq!(plan.steps[0].status, AgentStepStatus::Running);
    }

    #[test]
    fn a_limit_that_ends_a_turn_has_the_reset_of_what_is_used_up() {
        let mut standing = Standing::default();
        let both = vec![
            window("primary", 100.0, 7_000_000),
            window("secondary", 40.9, 9_000_000),
        ];
        let told = standing.observed(&limits_changed(both));
        let [Observed::Fact(Fact::RateLimits(limits))] = &told[..] else {
            panic!("{told:?}");
        };
        assert!(!limits.ended_turn);
        assert_eq!(limits.windows[1].used_percent, Some(40));
        let ended = ControlEvent::TurnEnded {
            request: None,
            turn: None,
            end: TurnEnd::Limit(AgentError {
                code: None,
                message: words("You've hit your usage limit."),
                sort: None,
                data: None,
            }),
            meta: None,
        };
        let told = standing.observed(&ended);
        let [Observed::Fact(Fact::RateLimits(limits))] = &told[..] else {
            panic!("{told:?}");
        };
        assert!(limits.ended_turn);
        assert_eq!(limits.resets_at(), Some(Timestamp::from_micros(7_000_000)));
        let reached = limits.reached.as_ref().map(|reached| reached.as_str());
        assert_eq!(reached, Some("You've hit your usage limit."));
    }
}
