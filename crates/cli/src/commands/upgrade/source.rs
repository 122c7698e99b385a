//! Where a release is: a folder, or an address that nobody on the way can change.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use missiond_core::ErrorCode;
use missiond_net::http::{
    Bytes, Connections, HttpClient, HttpError, Limits, Method, StatusCode, Uri, check_private,
    header, request,
};

use crate::failure::Failure;

/// For one file, redirections included in the count below and not in this.
const FETCH_LIMIT: Duration = Duration::from_secs(600);

/// A release of GitHub is one redirection away.
const REDIRECTIONS: usize = 5;

/// A file, here or elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Source {
    File(PathBuf),
    Url(Uri),
}

impl Source {
    /// What has `://` in it is an address, by https or to this machine.
    pub(super) fn parse(text: &str) -> Result<Self, Failure> {
        if text.contains("://") {
            return address(text).map(Self::Url);
        }
        Ok(Self::File(crate::folder::absolute(Path::new(text))?))
    }

    /// The last part of it, by which checksums list it.
    pub(super) fn name(&self) -> Option<&str> {
        let name = match self {
            Self::File(path) => path.file_name()?.to_str()?,
            Self::Url(uri) => uri.path().rsplit('/').next()?,
        };
        (!name.is_empty()).then_some(name)
    }

    /// The file of this name in the same folder.
    pub(super) fn beside(&self, name: &str) -> Result<Self, Failure> {
        match self {
            Self::File(path) => Ok(Self::File(path.with_file_name(name))),
            Self::Url(uri) => {
                let folder = uri.path().rsplit_once('/').map_or("", |(folder, _)| folder);
                at(uri, &format!("{folder}/{name}")).map(Self::Url)
            }
        }
    }

    /// All of it, if it is there and no larger than `limit` bytes.
    pub(super) fn read(&self, limit: usize) -> Result<Option<Vec<u8>>, Failure> {
        match self {
            Self::File(path) => read_file(path, limit),
            Self::Url(uri) => fetch(uri, limit),
        }
        .map_err(|error| Failure {
            message: format!("{self}: {}", error.message),
            ..error
        })
    }
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Url(uri) => write!(f, "{uri}"),
        }
    }
}

fn too_large(limit: usize) -> Failure {
    let message = format!("it is larger than {limit} bytes, which no release is");
    Failure::new(ErrorCode::TooLarge, message)
}

fn read_file(path: &Path, limit: usize) -> Result<Option<Vec<u8>>, Failure> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let about = file.metadata()?;
    if !about.is_file() {
        return Err(Failure::new(ErrorCode::InvalidParams, "it is not a file"));
    }
    if about.len() > limit as u64 {
        return Err(too_large(limit));
    }
    let mut bytes = Vec::new();
    file.take(limit as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > limit {
        return Err(too_large(limit));
    }
    Ok(Some(bytes))
}

fn fetch(uri: &Uri, limit: usize) -> Result<Option<Vec<u8>>, Failure> {
    let client = HttpClient::new(Connections::Closed);
    let limits = Limits {
        total: FETCH_LIMIT,
        body: limit,
    };
    let mut uri = uri.clone();
    for _ in 0..=REDIRECTIONS {
        let get = request(Method::GET, uri.clone())
            .header(header::USER_AGENT, "mission")
            .header(header::ACCEPT, "*/*")
            .body(Bytes::new().into())
            .map_err(|error| Failure::new(ErrorCode::InvalidParams, error.to_string()))?;
        let answer = client.fetch_blocking(get, limits).map_err(|error| {
            let code = match error {
                HttpError::TooLarge { .. } => return too_large(limit),
                HttpError::Timeout(_) => ErrorCode::Timeout,
                HttpError::NoCertificates(_) | HttpError::Unreachable(_) | HttpError::Broken(_) => {
                    ErrorCode::Upstream
                }
            };
            Failure::new(code, error.to_string())
        })?;
        match answer.status {
            StatusCode::OK => return Ok(Some(answer.body)),
            StatusCode::NOT_FOUND => return Ok(None),
            status if status.is_redirection() => {
                let place = answer.headers.get(header::LOCATION);
                let place = place.and_then(|place| place.to_str().ok()).unwrap_or("");
                uri = redirected(&uri, place)?;
            }
            status => {
                let message = format!("the server answered {status}");
                return Err(Failure::new(ErrorCode::Upstream, message));
            }
        }
    }
    let message = format!("more than {REDIRECTIONS} redirections");
    Err(Failure::new(ErrorCode::Upstream, message))
}

/// Where a redirection leads. What was asked for by https is not taken from elsewhere.
fn redirected(from: &Uri, place: &str) -> Result<Uri, Failure> {
    let to = if place.starts_with('/') && !place.starts_with("//") {
        at(from, place)?
    } else {
        address(place)?
    };
    if from.scheme_str() == Some("https") && to.scheme_str() != Some("https") {
        let message = format!("it leads to {to}, which is not https");
        return Err(Failure::new(ErrorCode::Upstream, message));
    }
    Ok(to)
}

fn address(text: &str) -> Result<Uri, Failure> {
    check_private(text)
        .map_err(|error| Failure::new(ErrorCode::InvalidParams, format!("`{text}` {error}")))
}

/// The same server, another path.
fn at(uri: &Uri, path: &str) -> Result<Uri, Failure> {
    let scheme = uri.scheme_str().unwrap_or("https");
    let authority = uri.authority().map_or("", |authority| authority.as_str());
    address(&format!("{scheme}://{authority}{path}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_beside_the_archive_and_a_query_is_no_part_of_its_name() {
        let source = Source::parse("https://example.com/v1/mission.tar.gz?token=1").unwrap();
        assert_eq!(source.name(), Some("mission.tar.gz"));
        let sums = source.beside("SHA256SUMS").unwrap();
        assert_eq!(sums.to_string(), "https://example.com/v1/SHA256SUMS");
        let file = Source::parse("/x/mission.tar.gz").unwrap();
        let sums = file.beside("SHA256SUMS").unwrap();
        assert_eq!(sums, Source::File("/x/SHA256SUMS".into()));
    }

    #[test]
    fn only_private_addresses_are_asked_and_redirected_to() {
        assert!(Source::parse("http://example.com/mission").is_err());
        assert!(Source::parse("ftp://example.com/mission").is_err());
        let from = Source::parse("https://example.com/a/b").unwrap();
        let Source::Url(from) = from else {
            unreachable!()
        };
        let led = |place| redirected(&from, place).map(|uri| uri.to_string());
        assert_eq!(led("/c").unwrap(), "https://example.com/c");
        assert_eq!(led("https://cdn.com/x").unwrap(), "https://cdn.com/x");
        for bad in [
            "",
            "c",
            "//cdn.com/x",
            "http://cdn.com/x",
            "http://localhost/x",
        ] {
            assert!(led(bad).is_err(), "{bad}");
        }
    }
}
