//! Servers whose certificate nobody knows, and names that nobody has.

use std::io::Read;
use std::net::TcpListener;
use std::sync::Arc;

use missiond_llm::LlmError;
use parking_lot::Mutex;

use crate::relayed::{Agent, sentence};
use crate::room::{KEY, room};

/// A server with a certificate that it made itself, and all it was told.
fn self_signed() -> (String, Arc<Mutex<Vec<u8>>>) {
    let certified = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let key = rustls::pki_types::PrivatePkcs8KeyDer::from(certified.signing_key.serialize_der());
    let certificate = certified.cert.der().clone();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key.into())
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&heard);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let session = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut stream = rustls::StreamOwned::new(session, stream);
            let mut bytes = vec![0; 4096];
            let read = stream.read(&mut bytes).unwrap_or_default();
            log.lock().extend_from_slice(&bytes[..read]);
        }
    });
    (format!("https://localhost:{port}"), heard)
}

#[tokio::test]
async fn a_server_with_a_certificate_of_its_own_is_told_nothing() {
    let (url, heard) = self_signed();
    let room = room("", &[("p", &url)]).await;
    let error = room.ask(&["p/m"]).await.unwrap_err();
    assert!(matches!(error, LlmError::Failed { .. }), "{error}");
    let agent = Agent::begin(&room).await;
    let refused = agent.ask(&room).await.unwrap_err();
    assert_eq!(refused.status.as_u16(), 502);
    assert!(sentence(&refused).starts_with("p: "), "{}", refused.body);
    assert!(heard.lock().is_empty(), "it was told something");
    for request in room.ended_requests().await {
        assert_eq!(
            (request.outcome.as_deref(), request.cost),
            (Some("failed"), Some(0))
        );
        assert!(!request.failure.unwrap().contains(KEY));
    }
}

#[tokio::test]
async fn an_agent_whose_provider_has_no_address_is_told_a_sentence() {
    let room = room("day_usd = 1.0", &[("p", "https://no-such-host.invalid")]).await;
    let agent = Agent::begin(&room).await;
    let refused = agent.ask(&room).await.unwrap_err();
    assert_eq!(refused.status.as_u16(), 502);
    let said = sentence(&refused);
    assert!(said.starts_with("p: ") && !said.contains(KEY), "{said}");
    let requests = room.ended_requests().await;
    assert_eq!(requests.len(), 1, "an agent tries again by itself");
    assert_eq!(requests[0].cost, Some(0), "nothing was sent");
    assert_eq!(agent.refusals(&room).await, [], "a quota is not the reason");
}
