//! Any recording becomes a moving picture or is refused with a reason.

#![no_main]

use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use missiond_pty::CastReader;
use missiond_pty::screenshot::{AnimationOptions, AnimationTheme, Speed, animate};

fuzz_target!(|data: &[u8]| {
    let Ok(reader) = CastReader::new(data) else {
        return;
    };
    let options = AnimationOptions {
        speed: Speed::RECORDED,
        longest_pause: Duration::from_secs(1),
        theme: AnimationTheme::Auto,
    };
    if let Ok(animation) = animate(reader, &options) {
        assert!(animation.frames > 0 && animation.svg.ends_with("</svg>\n"));
    }
});
