//! Whom TLS trusts. The system's certificates are read once for the whole
//! process, at the first address that needs them.

use std::sync::{Arc, OnceLock};

use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};

use super::client::HttpError;

/// Certificates that others are known by.
#[derive(Debug, Clone)]
pub enum Trust {
    /// The system's; `SSL_CERT_FILE` and `SSL_CERT_DIR` are heeded.
    System,
    /// These and no others.
    Only(Vec<CertificateDer<'static>>),
}

impl Trust {
    pub(super) fn config(&self) -> Result<Arc<ClientConfig>, HttpError> {
        match self {
            Self::System => system(),
            Self::Only(certificates) => {
                let mut roots = RootCertStore::empty();
                roots.add_parsable_certificates(certificates.iter().cloned());
                trusting(roots)
            }
        }
    }
}

fn system() -> Result<Arc<ClientConfig>, HttpError> {
    static CONFIG: OnceLock<Arc<ClientConfig>> = OnceLock::new();
    if let Some(config) = CONFIG.get() {
        return Ok(Arc::clone(config));
    }
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        // Not kept: they may be installed while we run.
        let why = found.errors.first().map(ToString::to_string);
        return Err(HttpError::NoCertificates(
            why.unwrap_or_else(|| "none were found".to_owned()),
        ));
    }
    let config = trusting(roots)?;
    Ok(Arc::clone(CONFIG.get_or_init(|| config)))
}

fn trusting(roots: RootCertStore) -> Result<Arc<ClientConfig>, HttpError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| HttpError::NoCertificates(error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}
