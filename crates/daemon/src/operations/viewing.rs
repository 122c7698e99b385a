//! Attaching to a slot: what every transport that can stream offers the same
//! way.

use missiond_api::{ApiError, AttachParams, Attached, ViewAccess};
use missiond_core::TraceContext;
use missiond_pty::{Keys, MAX_SIZE, MIN_SIZE, View};
use missiond_semantic::Size;

use super::Call;
use super::compute::{ask, open};
use crate::slots::{Order, Viewing};
use crate::state::Daemon;

/// Joins the viewers of a slot.
pub(crate) async fn attach(
    daemon: Daemon,
    params: AttachParams,
) -> Result<(Attached, Viewing), ApiError> {
    let keys = match params.access {
        ViewAccess::Write => Keys::Sent,
        ViewAccess::ReadOnly => Keys::NotSent,
    };
    let view = match (params.columns, params.rows) {
        (Some(columns), Some(rows)) => View::Of(checked(Size { columns, rows })?),
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
    let call = Call {
        daemon,
        trace: TraceContext::root(),
    };
    let open = open(&call, &params.slot).await?;
    let viewing = ask(&open, |done| Order::View { view, keys, done }).await?;
    let attached = Attached {
        attachment: viewing.id.0,
        slot: open.slot.id,
        name: open.slot.name.clone(),
    };
    Ok((attached, viewing))
}

fn checked(size: Size) -> Result<Size, ApiError> {
    let fits = (MIN_SIZE.columns..=MAX_SIZE.columns).contains(&size.columns)
        && (MIN_SIZE.rows..=MAX_SIZE.rows).contains(&size.rows);
    if fits {
        return Ok(size);
    }
    Err(ApiError::invalid_params(format!(
        "a size is {}x{} to {}x{}",
        MIN_SIZE.columns, MIN_SIZE.rows, MAX_SIZE.columns, MAX_SIZE.rows
    )))
}
