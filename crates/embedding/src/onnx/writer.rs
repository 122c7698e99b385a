//! Writes small ONNX files for tests.

/// A graph that grows.
#[derive(Debug, Default)]
pub(crate) struct OnnxWriter {
    graph: Vec<u8>,
}

impl OnnxWriter {
    pub(crate) fn tensor(&mut self, name: &str, shape: &[usize], values: &[f32]) {
        let mut tensor = Vec::new();
        for &size in shape {
            put_number(&mut tensor, 1, size as u64);
        }
        put_number(&mut tensor, 2, 1);
        put_bytes(&mut tensor, 8, name.as_bytes());
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        put_bytes(&mut tensor, 9, &bytes);
        put_bytes(&mut self.graph, 5, &tensor);
    }

    pub(crate) fn node(&mut self, operator: &str, name: &str, inputs: &[&str]) {
        let mut node = Vec::new();
        for input in inputs {
            put_bytes(&mut node, 1, input.as_bytes());
        }
        put_bytes(&mut node, 2, b"output");
        put_bytes(&mut node, 3, name.as_bytes());
        put_bytes(&mut node, 4, operator.as_bytes());
        put_bytes(&mut self.graph, 1, &node);
    }

    /// The file, with fields around the graph as exporters write them.
    pub(crate) fn finish(&self) -> Vec<u8> {
        let mut model = Vec::new();
        put_number(&mut model, 1, 6);
        put_bytes(&mut model, 2, b"pytorch");
        put_bytes(&mut model, 7, &self.graph);
        put_bytes(&mut model, 8, &[0x10, 11]);
        model
    }
}

pub(super) fn put_number(out: &mut Vec<u8>, field: u64, value: u64) {
    put_varint(out, field << 3);
    put_varint(out, value);
}

pub(super) fn put_bytes(out: &mut Vec<u8>, field: u64, bytes: &[u8]) {
    put_varint(out, field << 3 | 2);
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
