//! What agents, checks and tool servers reach: each is given a way out of its own, and
//! what is decided there by the policies is told on the timeline.

mod asked;

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use missiond_api::Home;
use missiond_audit::{AuditLog, Entry};
use missiond_config::policy_files::PolicyFiles;
use missiond_core::{AuditKind, Event, TraceContext};
use missiond_egress::{
    Caller, Egress, Judge, Limits, Report, Ruling, SystemResolver, Target, Undecided,
};
use missiond_executions::Executions;
use missiond_guard::policy::{NetworkDecision, Outbound, Policies};
use missiond_runtime::{Component, StartError, Supervisor, Tasks};
use missiond_secrets::mask;
use missiond_timeline::Timeline;
use parking_lot::Mutex;
use tokio::sync::mpsc;

use crate::permissions::Permissions;
use crate::questions::Questions;
use asked::People;

/// Decisions that wait to be told; what comes beyond them is counted.
const WAITING: usize = 4096;
/// The same decision is told once in this time, with how often it was.
const AGAIN_AFTER: Duration = Duration::from_secs(60);
/// Decisions that are remembered as told.
const MAX_TOLD: usize = 2000;

/// The ways out of a daemon.
#[derive(Debug)]
pub struct Network {
    egress: Arc<Egress>,
    judge: Arc<PolicyJudge>,
    timeline: Timeline,
    audit: AuditLog,
    reports: Mutex<Option<mpsc::Receiver<Report>>>,
    tasks: Tasks,
}

impl Network {
    #[must_use]
    pub fn new(
        home: &Home,
        policies: Arc<PolicyFiles>,
        timeline: Timeline,
        audit: AuditLog,
        supervisor: Supervisor,
    ) -> Self {
        let (told, reports) = mpsc::channel(WAITING);
        let judge = Arc::new(PolicyJudge {
            policies,
            people: Mutex::default(),
            told,
            untold: AtomicU64::new(0),
        });
        let egress = Egress::new(missiond_egress::Parts {
            folder: home.egress_dir(),
            judge: Arc::clone(&judge) as _,
            resolver: Arc::new(SystemResolver),
            limits: Limits::default(),
            supervisor: supervisor.clone(),
        });
        Self {
            egress: Arc::new(egress),
            judge,
            timeline,
            audit,
            reports: Mutex::new(Some(reports)),
            tasks: Tasks::new(supervisor),
        }
    }

    /// Where whoever starts a program opens a way out for it: [`Egress::open`] gives the
    /// socket of a caller, behind which is an HTTP proxy that knows it by this socket alone.
    #[must_use]
    pub fn egress(&self) -> &Arc<Egress> {
        &self.egress
    }
}

impl Network {
    /// From now on people are asked about what no policy decides. Later than the rest,
    /// because whoever asks them runs what goes out by this.
    pub fn ask_people(
        &self,
        permissions: &Arc<Permissions>,
        questions: &Arc<Questions>,
        executions: &Arc<Executions>,
    ) {
        let people = People {
            permissions: Arc::clone(permissions),
            questions: Arc::clone(questions),
            executions: Arc::clone(executions),
            asking: tokio::sync::Mutex::default(),
        };
        *self.judge.people.lock() = Some(Arc::new(people));
    }
}

impl Component for Network {
    fn name(&self) -> &'static str {
        "network"
    }

    fn start(self: Arc<Self>) -> BoxFuture<'static, Result<(), StartError>> {
        Box::pin(async move {
            let (timeline, audit) = (self.timeline.clone(), self.audit.clone());
            let mut reports = self.reports.lock().take();
            self.tasks.spawn_restarting("network decisions", move || {
                let told = Record {
                    timeline: timeline.clone(),
                    audit: audit.clone(),
                };
                tell(told, reports.take())
            });
            Ok(())
        })
    }

    fn stop(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.egress.close_all().await;
            self.judge.people.lock().take();
            self.tasks.stop().await;
        })
    }
}

/// Decides by the policies that hold where the caller works, as they are at that moment.
#[derive(Debug)]
struct PolicyJudge {
    policies: Arc<PolicyFiles>,
    people: Mutex<Option<Arc<People>>>,
    told: mpsc::Sender<Report>,
    untold: AtomicU64,
}

impl Judge for PolicyJudge {
    fn target(&self, caller: &Caller, target: &Target) -> Ruling {
        let decided = outbound(&self.policies.of(&caller.folder), target);
        Ruling {
            effect: decided.effect,
            rules: decided.rules,
            reason: decided.reason,
            change: decided.change,
        }
    }

    fn undecided<'a>(&'a self, asked: Undecided<'a>, ruling: Ruling) -> BoxFuture<'a, Ruling> {
        Box::pin(async move {
            let Undecided {
                caller,
                target,
                client,
            } = asked;
            let policies = self.policies.of(&caller.folder);
            let people = self.people.lock().clone();
            // What a file says that cannot be read may be no.
            let (Some(people), true) = (people, policies.broken.is_empty()) else {
                return ruling;
            };
            let layer = outbound(&policies, target).layer;
            let decided = people.decide(caller, target, client, layer, ruling.clone());
            decided.await.unwrap_or_else(|error| {
                tracing::warn!(%error, caller = caller.name, "person not asked about host");
                ruling
            })
        })
    }

    fn address(&self, caller: &Caller, target: &Target, address: IpAddr) -> Result<(), String> {
        let policies = self.policies.of(&caller.folder);
        policies.address(&target.host, target.port, address)
    }

    fn report(&self, report: Report) {
        if self.told.try_send(report).is_err() {
            let untold = self.untold.fetch_add(1, Ordering::Relaxed) + 1;
            tracing::warn!(untold, "decision about a host not told on timeline");
        }
    }
}

fn outbound(policies: &Policies, target: &Target) -> NetworkDecision {
    let request = target.request.as_ref();
    policies.outbound(&Outbound {
        host: &target.host,
        port: target.port,
        request: request.map(|(method, path)| (method.as_str(), path.as_str())),
    })
}

/// What is the same decision.
type Same = (Caller, String, &'static str);

/// One that was told, and how often it was the same since.
struct Told {
    at: tokio::time::Instant,
    report: Report,
    since: u64,
}

/// Where decisions are told.
struct Record {
    timeline: Timeline,
    audit: AuditLog,
}

async fn tell(told: Record, reports: Option<mpsc::Receiver<Report>>) {
    // After a panic the reports are gone with the task that had them.
    let Some(mut reports) = reports else { return };
    let mut known: HashMap<Same, Told> = HashMap::new();
    let mut ticks = tokio::time::interval(AGAIN_AFTER);
    loop {
        tokio::select! {
            report = reports.recv() => {
                let Some(report) = report else { return };
                let same = (report.caller.clone(), report.target.digest(), report.outcome.as_str());
                match known.get_mut(&same) {
                    Some(told) if told.at.elapsed() < AGAIN_AFTER => told.since += 1,
                    _ => {
                        told.record(&report, 1).await;
                        if known.len() >= MAX_TOLD {
                            told.flush(&mut known).await;
                        }
                        let at = tokio::time::Instant::now();
                        known.insert(same, Told { at, report, since: 0 });
                    }
                }
            }
            _ = ticks.tick() => told.flush(&mut known).await,
        }
    }
}

impl Record {
    /// Tells what was the same again, and forgets it.
    async fn flush(&self, known: &mut HashMap<Same, Told>) {
        for told in std::mem::take(known).into_values() {
            if told.since > 0 {
                self.record(&told.report, told.since).await;
            }
        }
    }

    async fn record(&self, report: &Report, count: u64) {
        let Report { caller, target, .. } = report;
        let kind = caller.kind.as_str();
        let entry = Entry::of_daemon(AuditKind::Decision, "network", &target.without_query())
            .about(&format!("{kind} {}", caller.name))
            .digest(&target.digest())
            .outcome(report.outcome.as_str());
        let entry = match report.rules.join(", ") {
            rules if rules.is_empty() => entry,
            rules => entry.rule(&rules),
        };
        self.audit.record_soon(entry).await;
        let shown = |text: &str| mask(text).into_string();
        let event = Event::EgressDecided {
            caller: caller.name.clone(),
            kind: kind.to_owned(),
            outcome: report.outcome.as_str().to_owned(),
            host: target.host.to_string(),
            port: target.port,
            method: target.request.as_ref().map(|(method, _)| method.clone()),
            path: target.path().map(shown),
            rules: report.rules.clone(),
            reason: shown(&report.reason),
            digest: target.digest(),
            count,
        };
        if let Err(error) = self.timeline.record(event, TraceContext::root()).await {
            tracing::warn!(%error, "decision about a host not recorded on timeline");
        }
    }
}
