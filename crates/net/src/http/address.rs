//! Where a message that nobody else may read can be sent.

use hyper::Uri;

use crate::is_loopback_host;

/// Why an address is not used. Each is the rest of a sentence that begins with
/// the address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    #[error(
        "is not a URL that can be used: it should begin with https://, or http:// on this machine"
    )]
    NotAnAddress,
    #[error(
        "is not on this machine, where http:// would show it to others: use https://, or a tunnel \
         that ends here"
    )]
    Unencrypted,
}

/// The address, if what is sent there stays private: by https to anyone, by http
/// to this machine only.
pub fn check_private(address: &str) -> Result<Uri, AddressError> {
    let uri: Uri = address.parse().map_err(|_| AddressError::NotAnAddress)?;
    let authority = uri.authority().map_or("", |authority| authority.as_str());
    let host = uri.host().unwrap_or_default();
    // A name or password before the host would be sent, or be taken for the
    // host; and the parser lets a port pass that is no number.
    let is_whole = match authority.strip_prefix(host) {
        None => false,
        Some("") => !host.is_empty(),
        Some(_) => uri.port_u16().is_some() && !host.is_empty(),
    };
    match uri.scheme_str() {
        Some("https") if is_whole => Ok(uri),
        Some("http") if is_whole && is_loopback_host(host) => Ok(uri),
        Some("http") if is_whole => Err(AddressError::Unencrypted),
        _ => Err(AddressError::NotAnAddress),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_stays_private() {
        for good in [
            "https://example.com",
            "https://example.com:8443/v1?x=1",
            "http://localhost/v1",
            "http://127.0.0.1:11434/",
            "http://[::1]:80",
        ] {
            assert!(check_private(good).is_ok(), "{good}");
        }
        for open in [
            "http://example.com",
            "http://192.168.0.7:11434",
            "http://localhost.example.com",
            "http://127.example.com",
            "http://127.0.0.1.example.com",
        ] {
            assert_eq!(
                check_private(open),
                Err(AddressError::Unencrypted),
                "{open}"
            );
        }
        for none in [
            "",
            "example.com",
            "ftp://example.com",
            "http://",
            "https://",
            "http://a b",
            "http://h:port",
            "http://localhost:",
            "https://me:secret@example.com",
            "http://localhost@example.com",
            "/v1",
        ] {
            assert_eq!(
                check_private(none),
                Err(AddressError::NotAnAddress),
                "{none}"
            );
        }
    }
}
