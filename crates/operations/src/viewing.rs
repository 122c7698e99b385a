//! Attaching to a slot: what every transport that can stream offers the same
//! way.

use missiond_api::{ApiError, AttachParams, Attached, ViewAccess};
use missiond_core::ErrorCode;
use missiond_pty::host::JoinedCast;
use missiond_pty::{Keys, View};
use missiond_semantic::Size;
use missiond_slots::{OpenSlot, SlotCommand, ViewerId, Viewing};

use super::compute::{ask, closed, open};
use crate::call::Call;
use crate::state::Daemon;

/// A slot as a page has it: looked at, and when it is taken, typed into.
#[derive(Debug)]
pub struct Terminal {
    open: OpenSlot,
    viewer: ViewerId,
}

impl Terminal {
    /// Joins the viewers of a slot, to look at all of its screen.
    pub async fn join(daemon: Daemon, slot: &str) -> Result<(Self, Viewing), ApiError> {
        let call = Call::looking(daemon);
        let open = open(&call, slot).await?;
        let (view, keys) = (View::Same, Keys::NotSent);
        let viewing = ask(&open, |done| SlotCommand::View { view, keys, done }).await?;
        let viewer = viewing.id;
        Ok((Self { open, viewer }, viewing))
    }

    /// Whether it may type now; somebody else does when not.
    pub async fn acquire_input(&self) -> Result<bool, ApiError> {
        let viewer = self.viewer;
        ask(&self.open, |done| SlotCommand::AcquireInput {
            viewer,
            done,
        })
        .await
    }

    pub async fn release(&self) -> Result<(), ApiError> {
        let viewer = self.viewer;
        ask(&self.open, |done| SlotCommand::ReleaseInput {
            viewer,
            done,
        })
        .await?;
        Ok(())
    }

    /// What a person's keys send, as it is.
    pub async fn type_keys(&self, bytes: Vec<u8>) -> Result<(), ApiError> {
        let sent = ask(&self.open, |done| SlotCommand::RawKeys { bytes, done }).await?;
        sent.map_err(|error| ApiError::new(ErrorCode::Conflict, error.to_string()))?;
        Ok(())
    }

    pub async fn resize(&self, size: Size) -> Result<(), ApiError> {
        let viewer = Some(self.viewer);
        let resized = ask(&self.open, |done| SlotCommand::Resize {
            size,
            viewer,
            done,
        })
        .await?;
        resized.map_err(|error| ApiError::invalid_params(error.to_string()))?;
        Ok(())
    }
}

/// What a slot has shown so far, open or closed.
pub async fn recording(daemon: Daemon, slot: &str) -> Result<JoinedCast, ApiError> {
    let call = Call::looking(daemon);
    let (id, name) = match call.daemon.slots.find(slot) {
        Some(open) => (open.slot.id, open.slot.name),
        None => {
            let slot = closed(&call, slot).await?;
            (slot.id, slot.name)
        }
    };
    let recorded = call.daemon.slots.recorded(id).await;
    recorded.map_err(|error| {
        let message = format!("the recording of the slot {name} cannot be read: {error}");
        ApiError::new(ErrorCode::NotFound, message)
    })
}

/// Joins the viewers of a slot.
pub async fn attach(daemon: Daemon, params: AttachParams) -> Result<(Attached, Viewing), ApiError> {
    let keys = match params.access {
        ViewAccess::Write => Keys::Sent,
        ViewAccess::ReadOnly => Keys::NotSent,
    };
    let view = match (params.columns, params.rows) {
        (Some(columns), Some(rows)) => View::Of(Size {
            columns: columns.to_u16(),
            rows: rows.to_u16(),
        }),
        (None, None) if keys == Keys::NotSent => View::Same,
        (None, None) => {
            return Err(ApiError::invalid_params(
                "a viewer that writes must say its `columns` and `rows`",
            ));
        }
        _ => {
            return Err(ApiError::invalid_params("`columns` and `rows` go together"));
        }
    };
    let call = Call::looking(daemon);
    let open = open(&call, &params.slot).await?;
    let viewing = ask(&open, |done| SlotCommand::View { view, keys, done }).await?;
    let attached = Attached {
        attachment: viewing.id.0,
        slot: open.slot.id,
        name: open.slot.name.clone(),
    };
    Ok((attached, viewing))
}
