#![no_main]
//! What a client and a host send through the proxy: no bytes make the reading fail, and
//! what is passed on can be read in one way only.

use libfuzzer_sys::fuzz_target;
use missiond_egress::head::{Length, answer, passed_on, request};
use missiond_egress::sni::hello;

fuzz_target!(|bytes: &[u8]| {
    let _ = hello(bytes);
    let _ = answer(bytes, "GET");
    let Ok(head) = request(bytes) else { return };
    assert_eq!(head.path.is_none(), head.method == "CONNECT");
    let count = |name: &str| head.fields.iter().filter(|field| field.name == name).count();
    assert!(count("host") <= 1 && count("content-length") <= 1);
    assert!(count("content-length") == 0 || head.length != Length::Chunked);
    for field in passed_on(&head.fields) {
        assert!(field.name != "transfer-encoding" && field.name != "connection");
        assert!(!field.value.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0)));
    }
});
