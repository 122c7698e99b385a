//! Linking as an extension of Node needs: its symbols come from the process that
//! loads it.

fn main() {
    napi_build::setup();
}
