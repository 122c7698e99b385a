//! What the terminal of a slot shows and has shown, as files.
//!
//! A recording may be a gigabyte. It is read in pieces, each when the one before
//! has been taken, so a slow reader costs one piece and no thread.

use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use missiond_operations::{picture, recording};
use missiond_pty::CastError;
use missiond_pty::host::JoinedCast;
use missiond_pty::screenshot::Format;
use missiond_runtime::blocking;

use super::refusal::Refusal;
use super::web::Web;

/// Read at a time.
const PIECE: usize = 64 << 10;

pub(super) async fn stream(
    State(web): State<Web>,
    Path(slot): Path<String>,
) -> Result<Response, Refusal> {
    let cast = recording(web.daemon.clone(), &slot).await?;
    let pieces = futures::stream::unfold(Some(cast), |cast| async move {
        match piece(cast?).await {
            Ok(Some((cast, lines))) => Some((Ok(Bytes::from(lines)), Some(cast))),
            Ok(None) => None,
            Err(error) => {
                tracing::warn!(%error, "recording transfer aborted");
                Some((Err(error), None))
            }
        }
    });
    let kind = HeaderValue::from_static("application/x-asciicast");
    Ok(([(header::CONTENT_TYPE, kind)], Body::from_stream(pieces)).into_response())
}

async fn piece(mut cast: JoinedCast) -> Result<Option<(JoinedCast, Vec<u8>)>, CastError> {
    blocking(move || {
        let lines = cast.next_lines(PIECE)?;
        Ok(lines.map(|lines| (cast, lines)))
    })
    .await
}

pub(super) async fn png(web: State<Web>, slot: Path<String>) -> Result<Response, Refusal> {
    screenshot(web, slot, Format::Png, "image/png").await
}

pub(super) async fn svg(web: State<Web>, slot: Path<String>) -> Result<Response, Refusal> {
    screenshot(web, slot, Format::Svg, "image/svg+xml").await
}

pub(super) async fn text(web: State<Web>, slot: Path<String>) -> Result<Response, Refusal> {
    screenshot(web, slot, Format::Text, "text/plain; charset=utf-8").await
}

async fn screenshot(
    State(web): State<Web>,
    Path(slot): Path<String>,
    format: Format,
    kind: &'static str,
) -> Result<Response, Refusal> {
    let drawn = picture(web.daemon.clone(), &slot, format).await?;
    let kind = HeaderValue::from_static(kind);
    Ok(([(header::CONTENT_TYPE, kind)], drawn).into_response())
}
