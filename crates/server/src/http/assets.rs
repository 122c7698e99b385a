//! The page itself. Every address that is no file and not of the API is the page,
//! which finds its way by the address; a file that is not there is not there.

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use missiond_web::Asset;

use super::refusal::Refusal;

pub(super) async fn serve(request: Request) -> Result<Response, Refusal> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return Err(Refusal::invalid(
            StatusCode::METHOD_NOT_ALLOWED,
            "a page is only looked at",
        ));
    }
    let path = request.uri().path().trim_start_matches('/');
    let last = path.rsplit('/').next().unwrap_or_default();
    let asset = match missiond_web::find(path) {
        Some(asset) => asset,
        // The page of a key is called as the key: `docs/key/log.level`.
        None if path.starts_with("docs/") => missiond_web::page(),
        None if last.contains('.') || path.starts_with("api/") => {
            return Err(Refusal::not_found("there is nothing at this address"));
        }
        None => missiond_web::page(),
    };
    Ok(answer(asset, request.headers()))
}

fn answer(asset: &'static Asset, headers: &HeaderMap) -> Response {
    let kept = if asset.is_immutable() {
        "public, max-age=31536000, immutable"
    } else {
        // Asked for each time, and answered with 304 while it is the same.
        "no-cache"
    };
    let common = [
        (header::CACHE_CONTROL, HeaderValue::from_static(kept)),
        (header::ETAG, HeaderValue::from_static(asset.etag)),
        (header::VARY, HeaderValue::from_static("accept-encoding")),
    ];
    if known(headers, asset.etag) {
        return (StatusCode::NOT_MODIFIED, common).into_response();
    }
    let forms = [("br", asset.brotli), ("gzip", asset.gzip)];
    let form = forms
        .into_iter()
        .find_map(|(name, body)| body.filter(|_| accepts(headers, name)).map(|b| (name, b)));
    let body = form.map_or(asset.body, |(_, body)| body);
    let mut response = (common, Body::from(Bytes::from_static(body))).into_response();
    let answered = response.headers_mut();
    answered.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static(asset.content_type),
    );
    if let Some((name, _)) = form {
        answered.insert(header::CONTENT_ENCODING, HeaderValue::from_static(name));
    }
    response
}

fn known(headers: &HeaderMap, etag: &str) -> bool {
    let asked = headers.get(header::IF_NONE_MATCH);
    asked
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| {
            value
                .split(',')
                .any(|known| known.trim().trim_start_matches("W/") == etag)
        })
}

/// Whether the client takes this form; `;q=0` says that it does not.
fn accepts(headers: &HeaderMap, form: &str) -> bool {
    let accepted = headers.get(header::ACCEPT_ENCODING);
    accepted
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| {
            value.split(',').any(|entry| {
                let mut parts = entry.split(';').map(str::trim);
                let named = parts
                    .next()
                    .is_some_and(|name| name.eq_ignore_ascii_case(form));
                named && !parts.any(|part| matches!(part, "q=0" | "q=0.0" | "q=0.00" | "q=0.000"))
            })
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(name: header::HeaderName, value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_static(value))])
    }

    #[test]
    fn a_form_is_taken_when_it_is_named_and_not_refused() {
        let accepts = |value| accepts(&asked(header::ACCEPT_ENCODING, value), "gzip");
        assert!(accepts("gzip") && accepts("br, GZIP;q=0.5"));
        assert!(!accepts("br") && !accepts("gzip;q=0") && !accepts(""));
    }

    #[test]
    fn a_page_that_is_known_is_not_sent_again() {
        let page = missiond_web::page();
        let again = answer(page, &asked(header::IF_NONE_MATCH, page.etag));
        assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
        let other = answer(page, &asked(header::IF_NONE_MATCH, "\"other\""));
        assert_eq!(other.status(), StatusCode::OK);
    }
}
