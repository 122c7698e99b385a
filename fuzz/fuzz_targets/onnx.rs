//! Any file where a model should be is read as tensors or refused with a reason.

#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use missiond_embedding::onnx::OnnxFile;

fuzz_target!(|data: &[u8]| {
    let Ok(mut file) = OnnxFile::open(Cursor::new(data)) else {
        return;
    };
    let tensors: Vec<(String, Vec<usize>)> = file
        .tensors()
        .map(|(name, shape)| (name.to_owned(), shape.to_vec()))
        .collect();
    for (name, shape) in tensors {
        if let Ok(numbers) = file.read(&name, &shape) {
            assert_eq!(numbers.len(), shape.iter().product::<usize>());
            assert!(numbers.len() * 4 <= data.len());
        }
    }
});
