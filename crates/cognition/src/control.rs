//! Which workers may work. What is said of one worker decides about it; else the switch
//! for all; else it rests where its kind or its domain does.
//!
//! A change is committed, with the event that tells of it, before it is acknowledged, and
//! in force when it is: no unit of work begins after that which the tree does not let.
//! Daemons that share a database share the tree, and hear of changes by the timeline.

use std::collections::BTreeMap;
use std::sync::Arc;

use missiond_core::{
    Clock, ControlNode, DaemonId, Event, TraceContext, WorkerDomain, WorkerKind, WorkerSwitch,
};
use missiond_runtime::{Supervisor, Unfinished};
use missiond_store::worker_switches::{self, SwitchRow};
use missiond_store::{MissionDb, NewEvent, StoreError, Tx, timeline};
use tokio::sync::watch;

/// All that was said of workers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ControlTree {
    switches: BTreeMap<ControlNode, SwitchRow>,
}

/// Whether a worker may work, and what decides that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing<'t> {
    pub switch: WorkerSwitch,
    /// None where nothing was said that counts for it.
    pub because: Option<&'t SwitchRow>,
}

impl ControlTree {
    #[must_use]
    pub fn of(rows: Vec<SwitchRow>) -> Self {
        let switches = rows.into_iter().map(|row| (row.node.clone(), row));
        Self {
            switches: switches.collect(),
        }
    }

    /// How a worker stands.
    #[must_use]
    pub fn standing(&self, worker: &str, kind: WorkerKind, domain: WorkerDomain) -> Standing<'_> {
        let said = |node: ControlNode| self.switches.get(&node);
        if let Some(row) = said(ControlNode::Worker(worker.to_owned())) {
            return Standing::by(row);
        }
        // Among the rest, what pauses counts: each of them is a reason to rest.
        let rest = [
            ControlNode::All,
            ControlNode::Kind(kind),
            ControlNode::Domain(domain),
        ];
        let paused = rest
            .into_iter()
            .filter_map(said)
            .find(|row| row.switch == WorkerSwitch::Paused);
        paused.map_or(
            Standing {
                switch: WorkerSwitch::Running,
                because: None,
            },
            Standing::by,
        )
    }

    /// All that was said.
    pub fn switches(&self) -> impl Iterator<Item = &SwitchRow> {
        self.switches.values()
    }
}

impl<'t> Standing<'t> {
    const fn by(row: &'t SwitchRow) -> Self {
        Self {
            switch: row.switch,
            because: Some(row),
        }
    }
}

/// What is to be said of some workers from now on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwitchChange {
    pub node: ControlNode,
    /// Nothing any more where there is none.
    pub switch: Option<WorkerSwitch>,
    pub reason: String,
    pub by: String,
}

/// Why a change was not made.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Unfinished(#[from] Unfinished),
}

/// The tree in force, and the only way to change it.
#[derive(Debug, Clone)]
pub struct Control {
    db: MissionDb,
    clock: Arc<dyn Clock>,
    daemon: DaemonId,
    tree: watch::Sender<Arc<ControlTree>>,
    /// Held from the store to the tree in force, so that an older one never replaces a
    /// newer one.
    changing: Arc<tokio::sync::Mutex<()>>,
    supervisor: Supervisor,
}

impl Control {
    /// With nothing said yet: [`Control::reload`] reads what was.
    #[must_use]
    pub fn new(
        db: MissionDb,
        clock: Arc<dyn Clock>,
        daemon: DaemonId,
        supervisor: Supervisor,
    ) -> Self {
        Self {
            db,
            clock,
            daemon,
            tree: watch::Sender::new(Arc::default()),
            changing: Arc::default(),
            supervisor,
        }
    }

    /// The tree in force.
    #[must_use]
    pub fn tree(&self) -> Arc<ControlTree> {
        Arc::clone(&self.tree.borrow())
    }

    /// The tree in force, and word of each change.
    #[must_use]
    pub fn watch(&self) -> watch::Receiver<Arc<ControlTree>> {
        self.tree.subscribe()
    }

    /// Takes what the database says into force.
    pub async fn reload(&self) -> Result<(), StoreError> {
        let _one = self.changing.lock().await;
        let rows = self.db.read(|tx| Box::pin(worker_switches::all(tx))).await;
        self.tree.send_replace(Arc::new(ControlTree::of(rows?)));
        Ok(())
    }

    /// Says something of workers, all of it or nothing. When this returns it is on record
    /// and in force; it comes to its end also when whoever asked goes away.
    pub async fn change(
        &self,
        changes: Vec<SwitchChange>,
        trace: TraceContext,
    ) -> Result<Arc<ControlTree>, ControlError> {
        let this = self.clone();
        let changed = self.supervisor.complete("worker switch", None, async move {
            this.change_now(changes, trace).await
        });
        Ok(changed.await??)
    }

    async fn change_now(
        &self,
        changes: Vec<SwitchChange>,
        trace: TraceContext,
    ) -> Result<Arc<ControlTree>, StoreError> {
        let _one = self.changing.lock().await;
        let (daemon, now) = (self.daemon, self.clock.now());
        let stored = self.db.write(move |tx| {
            Box::pin(async move {
                for change in changes {
                    if apply(tx, &change, now).await? {
                        let event = Event::WorkerSwitched {
                            node: change.node.to_string(),
                            switch: change.switch.map(|switch| switch.to_string()),
                            by: change.by,
                            reason: change.reason,
                        };
                        let event = NewEvent::new(now, daemon, trace.child(), event)?;
                        timeline::append(tx, &[event]).await?;
                    }
                }
                worker_switches::all(tx).await
            })
        });
        let tree = Arc::new(ControlTree::of(stored.await?));
        self.tree.send_replace(Arc::clone(&tree));
        Ok(tree)
    }
}

async fn apply(
    tx: &mut Tx<'_>,
    change: &SwitchChange,
    now: missiond_core::Timestamp,
) -> Result<bool, StoreError> {
    match change.switch {
        None => worker_switches::clear(tx, &change.node).await,
        Some(switch) => {
            let row = SwitchRow {
                node: change.node.clone(),
                switch,
                reason: change.reason.clone(),
                changed_by: change.by.clone(),
                changed_at: now,
            };
            worker_switches::set(tx, &row).await
        }
    }
}

#[cfg(test)]
mod tests {
    use missiond_core::Timestamp;
    use proptest::prelude::*;

    use super::*;

    fn row(node: ControlNode, switch: WorkerSwitch) -> SwitchRow {
        SwitchRow {
            node,
            switch,
            reason: "why".to_owned(),
            changed_by: "a person".to_owned(),
            changed_at: Timestamp::from_micros(1),
        }
    }

    fn switch() -> impl Strategy<Value = Option<WorkerSwitch>> {
        prop::option::of(prop::sample::select(WorkerSwitch::ALL))
    }

    /// What the document says, as a table: the first that says something decides, and
    /// below the one worker only a pause says something.
    fn expected(
        one: Option<WorkerSwitch>,
        all: Option<WorkerSwitch>,
        kind: Option<WorkerSwitch>,
        domain: Option<WorkerSwitch>,
    ) -> WorkerSwitch {
        match (one, all, kind, domain) {
            (Some(said), _, _, _) => said,
            (None, Some(WorkerSwitch::Paused), _, _)
            | (None, _, Some(WorkerSwitch::Paused), _)
            | (None, _, _, Some(WorkerSwitch::Paused)) => WorkerSwitch::Paused,
            _ => WorkerSwitch::Running,
        }
    }

    proptest! {
        #[test]
        fn one_worker_goes_before_all_and_all_before_kind_and_domain(
            one in switch(),
            all in switch(),
            kinds in prop::collection::vec(switch(), WorkerKind::ALL.len()),
            domains in prop::collection::vec(switch(), WorkerDomain::ALL.len()),
            other in switch(),
            kind in prop::sample::select(WorkerKind::ALL),
            domain in prop::sample::select(WorkerDomain::ALL),
        ) {
            let name = |name: &str| ControlNode::Worker(name.to_owned());
            let of_kinds = WorkerKind::ALL.iter().copied().map(ControlNode::Kind);
            let of_domains = WorkerDomain::ALL.iter().copied().map(ControlNode::Domain);
            let said = of_kinds
                .zip(kinds.iter().copied())
                .chain(of_domains.zip(domains.iter().copied()))
                .chain([(name("it"), one), (name("other"), other), (ControlNode::All, all)]);
            let rows = said.filter_map(|(node, switch)| Some(row(node, switch?)));
            let tree = ControlTree::of(rows.collect());
            let place = |known: &[WorkerKind]| known.iter().position(|each| *each == kind);
            let of_kind = kinds[place(WorkerKind::ALL).unwrap()];
            let of_domain = WorkerDomain::ALL.iter().position(|each| *each == domain);
            let of_domain = domains[of_domain.unwrap()];
            let standing = tree.standing("it", kind, domain);
            prop_assert_eq!(standing.switch, expected(one, all, of_kind, of_domain));
            if let Some(because) = standing.because {
                prop_assert_eq!(because.switch, standing.switch);
                prop_assert!(because.node != name("other"));
            }
        }
    }
}
