use proptest::prelude::*;

use super::*;

fn read(text: &str) -> Result<RequestHead, BadHead> {
    request(text.as_bytes())
}

#[test]
fn a_request_and_a_tunnel_are_read() {
    let head = read("POST http://A.Example:8080/x?y=1 HTTP/1.1\r\nHost: a.example:8080\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n").unwrap();
    assert_eq!(
        (
            head.method.as_str(),
            head.host.to_string(),
            head.port,
            head.path.as_deref(),
            head.length,
            head.expects_continue
        ),
        (
            "POST",
            "a.example".to_owned(),
            8080,
            Some("/x?y=1"),
            Length::Bytes(3),
            true
        )
    );
    let head = read("CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n").unwrap();
    assert_eq!(
        (head.path, head.port, head.length),
        (None, 443, Length::None)
    );
    let head = read("GET http://[::1]?q HTTP/1.0\r\n\r\n").unwrap();
    assert_eq!(
        (head.host.to_string(), head.path.as_deref()),
        ("[::1]".to_owned(), Some("/?q"))
    );
}

#[test]
fn what_could_be_read_in_two_ways_is_refused() {
    let get = "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n";
    for head in [
        // Lines.
        "GET http://a.example/ HTTP/1.1\nHost: a.example\n\n".to_owned(),
        format!("{get}A: b\n\r\n\r\n"),
        format!("{get}A: b\rX: c\r\n\r\n"),
        format!("{get}A: b\r\n c\r\n\r\n"),
        format!("{get}A : b\r\n\r\n"),
        format!("{get}: b\r\n\r\n"),
        format!("{get}A\r\n\r\n"),
        format!("{get}A: b\0\r\n\r\n"),
        format!("\r\n{get}\r\n"),
        // The first line.
        "GET  http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n".to_owned(),
        "get http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n".to_owned(),
        "GET http://a.example/ HTTP/1.2\r\nHost: a.example\r\n\r\n".to_owned(),
        "GET http://a.example/ HTTP/2.0\r\nHost: a.example\r\n\r\n".to_owned(),
        "GET /x HTTP/1.1\r\nHost: a.example\r\n\r\n".to_owned(),
        "GET https://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n".to_owned(),
        "GET http://me:pw@a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n".to_owned(),
        "GET http://a.example/#x HTTP/1.1\r\nHost: a.example\r\n\r\n".to_owned(),
        "GET http://a.example:0/ HTTP/1.1\r\nHost: a.example\r\n\r\n".to_owned(),
        "GET http://a.example:+80/ HTTP/1.1\r\nHost: a.example\r\n\r\n".to_owned(),
        "GET http://2130706433/ HTTP/1.1\r\nHost: 2130706433\r\n\r\n".to_owned(),
        "GET http://0x7f.1/ HTTP/1.1\r\nHost: 0x7f.1\r\n\r\n".to_owned(),
        "CONNECT a.example HTTP/1.1\r\nHost: a.example\r\n\r\n".to_owned(),
        "CONNECT http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n".to_owned(),
        "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\nContent-Length: 4\r\n\r\n"
            .to_owned(),
        // Hosts.
        "GET http://a.example/ HTTP/1.1\r\n\r\n".to_owned(),
        "GET http://a.example/ HTTP/1.1\r\nHost: b.example\r\n\r\n".to_owned(),
        format!("{get}Host: a.example\r\n\r\n"),
        // Lengths.
        format!("{get}Content-Length: 1\r\nContent-Length: 1\r\n\r\n"),
        format!("{get}Content-Length: 1, 1\r\n\r\n"),
        format!("{get}Content-Length: +1\r\n\r\n"),
        format!("{get}Content-Length: 0x1\r\n\r\n"),
        format!("{get}Content-Length: 99999999999999999999\r\n\r\n"),
        format!("{get}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"),
        format!("{get}Transfer-Encoding: chunked, identity\r\n\r\n"),
        format!("{get}Transfer-Encoding: xchunked\r\n\r\n"),
        format!("{get}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"),
        format!("{get}Transfer-Encoding:\u{b}chunked\r\n\r\n"),
        "POST http://a.example/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n".to_owned(),
    ] {
        assert!(read(&head).is_err(), "{head:?}");
    }
    let long = format!("{get}A: {}\r\n\r\n", "x".repeat(MAX_REQUEST_HEAD));
    assert_eq!(
        end_of_head(long.as_bytes(), MAX_REQUEST_HEAD),
        Err(BadHead::TooLong(MAX_REQUEST_HEAD))
    );
}

#[test]
fn fields_between_neighbours_do_not_go_on() {
    let head = read("GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\nConnection: close, X-Secret\r\nX-Secret: 1\r\nProxy-Authorization: Basic x\r\nUpgrade: h2c\r\nTE: trailers\r\nAccept: */*\r\n\r\n").unwrap();
    let names: Vec<&str> = passed_on(&head.fields)
        .map(|field| field.name.as_str())
        .collect();
    assert_eq!(names, ["host", "accept"]);
}

#[test]
fn an_answer_is_read_with_the_length_of_its_body() {
    let length = |text: &str, method: &str| answer(text.as_bytes(), method).map(|head| head.length);
    assert_eq!(
        length("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "GET"),
        Ok(Length::Bytes(5))
    );
    assert_eq!(
        length("HTTP/1.1 200\r\n\r\n", "GET"),
        Ok(Length::UntilClose)
    );
    assert_eq!(
        length("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "HEAD"),
        Ok(Length::None)
    );
    assert_eq!(
        length("HTTP/1.1 304 x\r\nContent-Length: 5\r\n\r\n", "GET"),
        Ok(Length::None)
    );
    assert_eq!(
        length(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            "GET"
        ),
        Ok(Length::Chunked)
    );
    for bad in [
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
        "HTTP/1.1 99 x\r\n\r\n",
        "HTTP/1.1 2000 x\r\n\r\n",
        "ICY 200 OK\r\n\r\n",
    ] {
        assert!(answer(bad.as_bytes(), "GET").is_err(), "{bad}");
    }
}

proptest! {
    #[test]
    fn no_bytes_make_the_reading_fail(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let mut head = bytes.clone();
        head.extend_from_slice(b"\r\n\r\n");
        let _ = request(&head);
        let _ = answer(&head, "GET");
        let mut head = b"GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n".to_vec();
        head.extend_from_slice(&bytes);
        head.extend_from_slice(b"\r\n\r\n");
        if let Ok(read) = request(&head) {
            prop_assert_eq!(read.host.to_string(), "a.example");
            prop_assert_eq!(read.fields.iter().filter(|field| field.name == "host").count(), 1);
        }
    }
}
