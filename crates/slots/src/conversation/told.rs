//! What an agent tells of itself beside its words, as it is now: kept short, because it
//! is shown beside much else.

use missiond_control::{
    Activity, Agent, Command, ContentPart, ControlEvent, Cost, LimitWindow, Offers, Plan, Protocol,
    Session, Setting, Speaker, ToolCall, ToolKind, ToolStatus, TurnEnd,
};
use missiond_core::{
    AgentCommand, AgentLimit, AgentSetting, AgentStep, AgentTold, SubAgent, WhileWorking, excerpt,
    one_line,
};

/// Elements kept of each list, and characters of each text.
const MOST: usize = 100;
const LONGEST: usize = 300;

#[derive(Debug, Default)]
pub(super) struct Told {
    told: AgentTold,
    /// Each with what it is known by: its session, or the call that began it.
    sub_agents: Vec<(String, SubAgent)>,
}

impl Told {
    pub(super) fn absorb(&mut self, event: &ControlEvent) {
        match event {
            ControlEvent::AgentReady(agent) => {
                self.told.agent = Some(greeting(agent));
                self.told.while_working = while_working(agent.offers);
            }
            ControlEvent::Plan(plan) => self.told.plan = steps(plan),
            ControlEvent::CommandsChanged { commands } => {
                self.told.commands = commands.iter().take(MOST).map(command).collect();
            }
            // A plan is of its turn, and who works for it works in it.
            ControlEvent::TurnBegan { .. } => {
                self.told.limit_reached = None;
                self.told.plan.clear();
                self.sub_agents.retain(|(_, one)| one.is_working);
            }
            ControlEvent::UsageChanged(usage) => {
                let cost = usage.cost.as_ref().and_then(cost);
                self.told.cost = cost.or(self.told.cost.take());
            }
            ControlEvent::RateLimitsChanged(limits) => {
                self.told.limits = limits.windows.iter().take(MOST).map(limit).collect();
            }
            ControlEvent::TurnEnded {
                end: TurnEnd::Limit(error),
                ..
            } => self.told.limit_reached = Some(short(&error.message.text)),
            ControlEvent::ToolCallAnnounced { call, .. } if call.kind == ToolKind::SubAgent => {
                self.begin_call(call);
            }
            ControlEvent::ToolCallUpdated { update, .. } => {
                let is_over = update.status.as_ref().is_some_and(is_over);
                let mut known = self.sub_agents.iter_mut();
                let of_call = known.find(|(known, _)| *known == update.id.0);
                if let Some((_, sub_agent)) = of_call.filter(|_| is_over) {
                    sub_agent.is_working = false;
                }
            }
            ControlEvent::SubAgent { session, event } => self.absorb_sub_agent(session, event),
            _ => {}
        }
    }

    /// With the settings of the session as they are now.
    pub(super) fn of(&self, session: Option<&Session>) -> AgentTold {
        let settings = session.map_or(&[][..], |session| &session.settings);
        AgentTold {
            settings: settings.iter().take(MOST).map(setting).collect(),
            sub_agents: self.sub_agents.iter().map(|(_, one)| one.clone()).collect(),
            ..self.told.clone()
        }
    }

    fn begin_call(&mut self, call: &ToolCall) {
        let title = short(&call.title.text);
        if let Some(sub_agent) = self.sub_agent(&call.id.0) {
            sub_agent.name = title;
            sub_agent.is_working = !is_over(&call.status);
        }
    }

    fn absorb_sub_agent(&mut self, session: &str, event: &ControlEvent) {
        let Some(sub_agent) = self.sub_agent(session) else {
            return;
        };
        match event {
            ControlEvent::TurnBegan { .. } => sub_agent.is_working = true,
            ControlEvent::TurnEnded { .. } => sub_agent.is_working = false,
            ControlEvent::ActivityChanged { activity } => {
                sub_agent.is_working = *activity != Activity::Idle;
            }
            ControlEvent::Message(message) if message.speaker == Speaker::Agent => {
                if let Some(ContentPart::Text(text)) = &message.part {
                    sub_agent.last_words = Some(short(&text.text));
                }
            }
            _ => {}
        }
    }

    /// The one known by this, which may be new; none when there are too many.
    fn sub_agent(&mut self, known_by: &str) -> Option<&mut SubAgent> {
        let place = self
            .sub_agents
            .iter()
            .position(|(known, _)| known == known_by);
        let place = match place {
            Some(place) => place,
            None if self.sub_agents.len() >= MOST => return None,
            None => {
                let new = SubAgent {
                    name: short(known_by),
                    is_working: true,
                    last_words: None,
                };
                self.sub_agents.push((known_by.to_owned(), new));
                self.sub_agents.len() - 1
            }
        };
        self.sub_agents.get_mut(place).map(|(_, one)| one)
    }
}

/// What an agent calls itself, and how it is spoken to.
pub(super) fn greeting(agent: &Agent) -> String {
    let name = agent.name.as_ref().map_or("An agent", |name| &name.text);
    let version = agent.version.as_ref().map_or("", |version| &version.text);
    let protocol = match agent.protocol {
        Protocol::AcpV1 => "ACP 1",
        Protocol::AcpV2 => "ACP 2",
        Protocol::CodexAppServer => "its app-server",
    };
    short(&format!("{name} {version} by {protocol}"))
}

fn while_working(offers: Offers) -> Option<WhileWorking> {
    if offers.steer {
        Some(WhileWorking::Steers)
    } else if offers.queue {
        Some(WhileWorking::Queues)
    } else {
        None
    }
}

fn steps(plan: &Plan) -> Vec<AgentStep> {
    let step = |step: &missiond_control::PlanStep| AgentStep {
        text: short(&step.text.text),
        status: (&step.status).into(),
    };
    plan.steps.iter().take(MOST).map(step).collect()
}

fn cost(cost: &Cost) -> Option<String> {
    let written = format!("{} {}", cost.decimal()?, cost.currency.text);
    Some(short(&written))
}

fn limit(window: &LimitWindow) -> AgentLimit {
    AgentLimit {
        name: short(&window.name),
        used_percent: window.percent(),
        minutes: window.minutes,
        resets_at: window.resets_at,
    }
}

fn command(command: &Command) -> AgentCommand {
    AgentCommand {
        name: short(&command.name.text),
        description: short(&command.description.text),
    }
}

fn setting(setting: &Setting) -> AgentSetting {
    let choices = setting.choices.iter().take(MOST);
    AgentSetting {
        name: short(&setting.name.text),
        current: short(&setting.current),
        choices: choices.map(|choice| short(&choice.id)).collect(),
    }
}

fn is_over(status: &ToolStatus) -> bool {
    !matches!(
        status,
        ToolStatus::Pending | ToolStatus::Running | ToolStatus::Unknown(_)
    )
}

fn short(text: &str) -> String {
    excerpt(&one_line(text), LONGEST)
}

#[cfg(test)]
mod tests {
    use missiond_control::{
        AgentError, Clipped, MessagePart, Origin, Placement, PlanStep, RateLimits, RequestId,
        StepStatus, Usage,
    };
    use missiond_core::{AgentStepStatus, Timestamp};

    use super::*;

    fn text(text: &str) -> Clipped {
        Clipped::new(text, 1000)
    }

    fn of_sub_agent(event: ControlEvent) -> ControlEvent {
        ControlEvent::SubAgent {
            session: "thread-2".to_owned(),
            event: Box::new(event),
        }
    }

    #[test]
    fn the_newest_of_each_is_kept_and_a_turn_begins_with_no_plan() {
        let mut told = Told::default();
        let turn = ControlEvent::TurnBegan {
            request: Some(RequestId(3)),
            turn: None,
        };
        told.absorb(&turn);
        told.absorb(&ControlEvent::CommandsChanged {
            commands: vec![Command {
                name: text("review"),
                description: text("Look at\nthe changes"),
                hint: None,
            }],
        });
        told.absorb(&ControlEvent::Plan(Plan {
            id: None,
            explanation: None,
            steps: vec![PlanStep {
                text: text("look"),
                status: StepStatus::Running,
                priority: None,
            }],
        }));
        told.absorb(&of_sub_agent(turn.clone()));
        told.absorb(&of_sub_agent(ControlEvent::Message(MessagePart {
            speaker: Speaker::Agent,
            message: None,
            part: Some(ContentPart::Text(text("It is red."))),
            placement: Placement::Appended,
            origin: Origin::Live,
            meta: None,
        })));
        let working = SubAgent {
            name: "thread-2".to_owned(),
            is_working: true,
            last_words: Some("It is red.".to_owned()),
        };
        let expected = AgentTold {
            plan: vec![AgentStep {
                text: "look".to_owned(),
                status: AgentStepStatus::Running,
            }],
            commands: vec![AgentCommand {
                name: "review".to_owned(),
                description: "Look at the changes".to_owned(),
            }],
            sub_agents: vec![working],
            ..AgentTold::default()
        };
        assert_eq!(told.of(None), expected);
        told.absorb(&of_sub_agent(ControlEvent::TurnEnded {
            request: None,
            turn: None,
            end: TurnEnd::Done,
            meta: None,
        }));
        told.absorb(&turn);
        let next = AgentTold {
            plan: Vec::new(),
            sub_agents: Vec::new(),
            ..expected
        };
        assert_eq!(told.of(None), next);
    }

    #[test]
    fn cost_and_limits_stay_and_a_reached_limit_is_of_its_turn() {
        let mut told = Told::default();
        told.absorb(&ControlEvent::UsageChanged(Usage {
            cost: Some(Cost {
                amount: 1.5,
                currency: text("USD"),
            }),
            ..Usage::default()
        }));
        // Most say what they have used and not what that cost.
        told.absorb(&ControlEvent::UsageChanged(Usage::default()));
        let resets_at = Some(Timestamp::from_micros(7));
        told.absorb(&ControlEvent::RateLimitsChanged(RateLimits {
            id: None,
            plan: None,
            windows: vec![LimitWindow {
                name: "primary".to_owned(),
                used_percent: Some(99.9),
                minutes: Some(300),
                resets_at,
            }],
            reached: None,
        }));
        told.absorb(&ControlEvent::TurnEnded {
            request: None,
            turn: None,
            end: TurnEnd::Limit(AgentError {
                code: None,
                message: text("Try again later."),
                sort: None,
                data: None,
            }),
            meta: None,
        });
        let expected = AgentTold {
            cost: Some("1.5 USD".to_owned()),
            limits: vec![AgentLimit {
                name: "primary".to_owned(),
                used_percent: Some(99),
                minutes: Some(300),
                resets_at,
            }],
            limit_reached: Some("Try again later.".to_owned()),
            ..AgentTold::default()
        };
        assert_eq!(told.of(None), expected);
        told.absorb(&ControlEvent::TurnBegan {
            request: None,
            turn: None,
        });
        let next = AgentTold {
            limit_reached: None,
            ..expected
        };
        assert_eq!(told.of(None), next);
    }
}
