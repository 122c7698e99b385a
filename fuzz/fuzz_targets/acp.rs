//! Anything an editor may send is answered in the protocol's form without a panic, with
//! as many answers however it is cut. What would ask a daemon is left out: none is there.

#![no_main]

use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex};

use libfuzzer_sys::fuzz_target;
use missiond_acp::{Server, Settings};
use missiond_core::{CliEngine, Permission};

const HELLO: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\"}\n";

fuzz_target!(|data: &[u8]| {
    let asks = [&b"load"[..], b"resume", b"prompt", b"list", b"\\u"];
    let has = |word: &[u8]| data.windows(word.len()).any(|found| found == word);
    if asks.into_iter().any(has) {
        return;
    }
    assert_eq!(answers(data, usize::MAX), answers(data, 1));
});

#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0
            .lock()
            .expect("nobody panics")
            .extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Hands out so many bytes at a time.
struct Pieces<'a>(&'a [u8], usize);

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = self.1.min(buffer.len());
        self.0.read(&mut buffer[..most])
    }
}

/// How many answers there are, each of them a message. A session has a name of its own
/// each time, so they are not the same.
fn answers(data: &[u8], at_once: usize) -> usize {
    let written = Written::default();
    let settings = Settings {
        engine: CliEngine::Claude,
        args: Vec::new(),
        model: None,
        permission: Permission::Ask,
        env: Default::default(),
        trust_folder: false,
        context: true,
        hint: None,
    };
    let connect: missiond_acp::Connect = Arc::new(|| Err("nobody is there".to_owned()));
    let mut server = Server::new(
        Box::new(written.clone()),
        connect,
        settings,
        Box::new(|_| {}),
    );
    let input = HELLO.chain(Pieces(data, at_once));
    server.serve(input).expect("bytes can be read");
    let written = written.0.lock().expect("nobody panics");
    let lines = written.split(|byte| *byte == b'\n');
    let messages = lines.filter(|line| !line.is_empty()).map(|line| {
        let line: serde_json::Value = serde_json::from_slice(line).expect("it is JSON");
        assert_eq!(line["jsonrpc"], "2.0");
    });
    messages.count()
}
