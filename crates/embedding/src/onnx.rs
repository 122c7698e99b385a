//! The weights in an ONNX file: which tensors it stores, and which of them each
//! MatMul node of its graph multiplies by. Nothing is run.
//!
//! Files are written by others, so a length is believed only when the bytes it
//! speaks of are there, and nothing is allocated before. Tensors are read one by
//! one from where they lie; the file is never in memory as a whole.

#[cfg(test)]
pub(crate) mod writer;

use std::collections::HashMap;
use std::io::{self, BufReader, Read, Seek, SeekFrom};

/// Why a file does not give the weights that are asked for.
#[derive(Debug, thiserror::Error)]
pub enum OnnxError {
    #[error("the ONNX file cannot be read: {0}")]
    Io(#[from] io::Error),
    #[error("the ONNX file is damaged at byte {offset}: {problem}")]
    Damaged { offset: u64, problem: &'static str },
    #[error("the ONNX file has no tensor `{0}`")]
    NoTensor(String),
    #[error("the ONNX file has no MatMul node `{0}`")]
    NoMatMul(String),
    #[error("the tensor `{name}` has the shape {found:?}, not {expected:?}")]
    WrongShape {
        name: String,
        expected: Vec<usize>,
        found: Vec<usize>,
    },
    #[error("the tensor `{name}` is not stored as {expected} bytes of 32-bit floats in the file")]
    WrongStorage { name: String, expected: u64 },
}

/// An opened file, of which the contents are known and the tensors still unread.
#[derive(Debug)]
pub struct OnnxFile<R> {
    source: BufReader<R>,
    tensors: HashMap<String, StoredTensor>,
    /// The second input of each MatMul node, by the name of the node.
    matmul_weights: HashMap<String, String>,
}

#[derive(Debug, Default)]
struct StoredTensor {
    shape: Vec<usize>,
    is_float: bool,
    /// Where its bytes are, unless it is stored in another way.
    bytes: Option<Field>,
}

/// No graph that is run here has nearly as many nodes, or tensors.
const MOST_ENTRIES: usize = 1 << 16;

const LONGEST_NAME: u64 = 1024;

const MOST_DIMENSIONS: usize = 8;

/// The field numbers of `onnx.proto`.
mod number {
    pub(super) const MODEL_GRAPH: u64 = 7;
    pub(super) const GRAPH_NODE: u64 = 1;
    pub(super) const GRAPH_INITIALIZER: u64 = 5;
    pub(super) const NODE_INPUT: u64 = 1;
    pub(super) const NODE_NAME: u64 = 3;
    pub(super) const NODE_OPERATOR: u64 = 4;
    pub(super) const TENSOR_DIMENSIONS: u64 = 1;
    pub(super) const TENSOR_TYPE: u64 = 2;
    pub(super) const TENSOR_NAME: u64 = 8;
    pub(super) const TENSOR_BYTES: u64 = 9;
}

/// The number of 32-bit floats among ONNX's types.
const FLOAT: u64 = 1;

const DIMENSIONS: &str = "a tensor has too many dimensions or too large ones";

impl<R: Read + Seek> OnnxFile<R> {
    /// Reads what is in a file, but no tensor.
    pub fn open(mut source: R) -> Result<Self, OnnxError> {
        let length = source.seek(SeekFrom::End(0))?;
        source.rewind()?;
        let mut file = Self {
            source: BufReader::new(source),
            tensors: HashMap::new(),
            matmul_weights: HashMap::new(),
        };
        let mut model = Message::whole(length);
        while let Some((number, value)) = model.next(&mut file.source)? {
            if let (number::MODEL_GRAPH, Value::Bytes(graph)) = (number, value) {
                file.list_graph(Message::of(graph))?;
            }
            model.skip_to_next(&mut file.source)?;
        }
        Ok(file)
    }

    /// The tensors that are stored, each with its shape.
    pub fn tensors(&self) -> impl Iterator<Item = (&str, &[usize])> {
        let tensors = self.tensors.iter();
        tensors.map(|(name, tensor)| (name.as_str(), tensor.shape.as_slice()))
    }

    /// The name of the tensor that a MatMul node multiplies by.
    pub fn matmul_weight(&self, node: &str) -> Result<&str, OnnxError> {
        let weight = self.matmul_weights.get(node);
        weight
            .map(String::as_str)
            .ok_or_else(|| OnnxError::NoMatMul(node.to_owned()))
    }

    pub fn shape_of(&self, name: &str) -> Result<&[usize], OnnxError> {
        let tensor = self.tensors.get(name);
        tensor
            .map(|tensor| tensor.shape.as_slice())
            .ok_or_else(|| OnnxError::NoTensor(name.to_owned()))
    }

    /// The numbers of a tensor, row by row, if it has this shape.
    pub fn read(&mut self, name: &str, shape: &[usize]) -> Result<Vec<f32>, OnnxError> {
        let found = self.shape_of(name)?;
        if found != shape {
            return Err(OnnxError::WrongShape {
                name: name.to_owned(),
                expected: shape.to_vec(),
                found: found.to_vec(),
            });
        }
        let expected = shape
            .iter()
            .try_fold(4_u64, |bytes, &size| bytes.checked_mul(size as u64))
            .unwrap_or(u64::MAX);
        let tensor = &self.tensors[name];
        let bytes = tensor
            .bytes
            .filter(|bytes| tensor.is_float && bytes.end - bytes.start == expected)
            .ok_or_else(|| OnnxError::WrongStorage {
                name: name.to_owned(),
                expected,
            })?;
        self.source.seek(SeekFrom::Start(bytes.start))?;
        let mut numbers = Vec::with_capacity((expected / 4) as usize);
        let mut piece = [0; 16 * 1024];
        let mut left = expected as usize;
        while left > 0 {
            let piece = &mut piece[..left.min(16 * 1024)];
            self.source.read_exact(piece)?;
            let (words, _) = piece.as_chunks();
            numbers.extend(words.iter().map(|&word| f32::from_le_bytes(word)));
            left -= piece.len();
        }
        Ok(numbers)
    }

    fn list_graph(&mut self, mut graph: Message) -> Result<(), OnnxError> {
        while let Some((number, value)) = graph.next(&mut self.source)? {
            match (number, value) {
                (number::GRAPH_NODE, Value::Bytes(node)) => self.list_node(Message::of(node))?,
                (number::GRAPH_INITIALIZER, Value::Bytes(tensor)) => {
                    self.list_tensor(Message::of(tensor))?;
                }
                _ => {}
            }
            if self.tensors.len().max(self.matmul_weights.len()) > MOST_ENTRIES {
                return Err(graph.damaged("its graph has too many entries"));
            }
            graph.skip_to_next(&mut self.source)?;
        }
        Ok(())
    }

    fn list_node(&mut self, mut node: Message) -> Result<(), OnnxError> {
        let (mut name, mut operator) = (String::new(), String::new());
        let (mut inputs, mut weight) = (0, String::new());
        while let Some((number, value)) = node.next(&mut self.source)? {
            match (number, value) {
                (number::NODE_NAME, Value::Bytes(text)) => name = text.text(&mut self.source)?,
                (number::NODE_OPERATOR, Value::Bytes(text)) => {
                    operator = text.text(&mut self.source)?;
                }
                (number::NODE_INPUT, Value::Bytes(text)) => {
                    inputs += 1;
                    if inputs == 2 {
                        weight = text.text(&mut self.source)?;
                    }
                }
                _ => {}
            }
            node.skip_to_next(&mut self.source)?;
        }
        if operator == "MatMul" {
            self.matmul_weights.insert(name, weight);
        }
        Ok(())
    }

    fn list_tensor(&mut self, mut tensor: Message) -> Result<(), OnnxError> {
        let (mut name, mut stored) = (String::new(), StoredTensor::default());
        while let Some((number, value)) = tensor.next(&mut self.source)? {
            match (number, value) {
                (number::TENSOR_NAME, Value::Bytes(text)) => name = text.text(&mut self.source)?,
                (number::TENSOR_TYPE, Value::Number(kind)) => stored.is_float = kind == FLOAT,
                (number::TENSOR_BYTES, Value::Bytes(bytes)) => stored.bytes = Some(bytes),
                (number::TENSOR_DIMENSIONS, Value::Number(size)) => {
                    stored.add_dimension(size, &tensor)?;
                }
                // Newer writers store all dimensions in one field.
                (number::TENSOR_DIMENSIONS, Value::Bytes(sizes)) => {
                    let mut sizes = Message::of(sizes);
                    while sizes.offset < sizes.end {
                        let size = sizes.varint(&mut self.source)?;
                        stored.add_dimension(size, &sizes)?;
                    }
                }
                _ => {}
            }
            tensor.skip_to_next(&mut self.source)?;
        }
        self.tensors.insert(name, stored);
        Ok(())
    }
}

impl StoredTensor {
    fn add_dimension(&mut self, size: u64, at: &Message) -> Result<(), OnnxError> {
        let size = usize::try_from(size).ok();
        match size.filter(|_| self.shape.len() < MOST_DIMENSIONS) {
            Some(size) => {
                self.shape.push(size);
                Ok(())
            }
            None => Err(at.damaged(DIMENSIONS)),
        }
    }
}

/// The bytes of a field, which are all in the file.
#[derive(Debug, Clone, Copy)]
struct Field {
    start: u64,
    end: u64,
}

impl Field {
    /// Reads it as text. The source stands at its start.
    fn text(self, source: &mut impl Read) -> Result<String, OnnxError> {
        let damaged = |problem| OnnxError::Damaged {
            offset: self.start,
            problem,
        };
        let length = self.end - self.start;
        if length > LONGEST_NAME {
            return Err(damaged("a name is too long"));
        }
        let mut bytes = vec![0; length as usize];
        source.read_exact(&mut bytes)?;
        String::from_utf8(bytes).map_err(|_| damaged("a name is not UTF-8"))
    }
}

enum Value {
    Number(u64),
    /// A text, a message or bytes. The source stands at its start.
    Bytes(Field),
    /// Of a type that holds nothing that is looked for.
    Other,
}

/// A protobuf message that is read field by field.
struct Message {
    /// Where the field after the one that was read last begins.
    offset: u64,
    end: u64,
}

impl Message {
    fn whole(length: u64) -> Self {
        Self {
            offset: 0,
            end: length,
        }
    }

    fn of(field: Field) -> Self {
        Self {
            offset: field.start,
            end: field.end,
        }
    }

    /// The number and value of the next field. When the value has been looked at,
    /// [`Self::skip_to_next`] must follow.
    fn next<R: Read>(
        &mut self,
        source: &mut BufReader<R>,
    ) -> Result<Option<(u64, Value)>, OnnxError> {
        if self.offset == self.end {
            return Ok(None);
        }
        let key = self.varint(source)?;
        let value = match key & 7 {
            0 => Value::Number(self.varint(source)?),
            1 => self.advance(8).map(|_| Value::Other)?,
            2 => {
                let length = self.varint(source)?;
                Value::Bytes(self.advance(length)?)
            }
            5 => self.advance(4).map(|_| Value::Other)?,
            _ => return Err(self.damaged("a field has no known type")),
        };
        Ok(Some((key >> 3, value)))
    }

    fn skip_to_next<R: Read + Seek>(&self, source: &mut BufReader<R>) -> Result<(), OnnxError> {
        let now = source.stream_position()?;
        Ok(source.seek_relative(self.offset as i64 - now as i64)?)
    }

    fn advance(&mut self, length: u64) -> Result<Field, OnnxError> {
        if length > self.end - self.offset {
            return Err(self.damaged("a field is longer than what holds it"));
        }
        let start = self.offset;
        self.offset += length;
        Ok(Field {
            start,
            end: self.offset,
        })
    }

    fn varint(&mut self, source: &mut impl Read) -> Result<u64, OnnxError> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            if self.offset == self.end {
                return Err(self.damaged("a number is cut off"));
            }
            let mut byte = [0];
            source.read_exact(&mut byte)?;
            self.offset += 1;
            number |= u64::from(byte[0] & 0x7f) << shift;
            if byte[0] < 0x80 {
                return Ok(number);
            }
        }
        Err(self.damaged("a number is too long"))
    }

    fn damaged(&self, problem: &'static str) -> OnnxError {
        OnnxError::Damaged {
            offset: self.offset,
            problem,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use proptest::prelude::*;

    use super::writer::{OnnxWriter, put_bytes, put_number};
    use super::*;

    fn file() -> Vec<u8> {
        let mut writer = OnnxWriter::default();
        writer.tensor("bias", &[3], &[1.0, -2.5, 3.0]);
        writer.tensor("onnx::MatMul_7", &[2, 1], &[0.5, f32::MIN]);
        writer.node("Add", "/dense/Add", &["bias", "x"]);
        writer.node("MatMul", "/dense/MatMul", &["x", "onnx::MatMul_7"]);
        writer.finish()
    }

    #[test]
    fn tensors_are_found_by_name_and_by_the_node_that_multiplies_by_them() {
        let mut file = OnnxFile::open(Cursor::new(file())).unwrap();
        assert_eq!(file.read("bias", &[3]).unwrap(), [1.0, -2.5, 3.0]);
        let weight = file.matmul_weight("/dense/MatMul").unwrap().to_owned();
        assert_eq!(file.read(&weight, &[2, 1]).unwrap(), [0.5, f32::MIN]);
        assert_eq!(file.shape_of(&weight).unwrap(), [2, 1]);
        let mut names: Vec<&str> = file.tensors().map(|(name, _)| name).collect();
        names.sort_unstable();
        assert_eq!(names, ["bias", "onnx::MatMul_7"]);
    }

    #[test]
    fn what_is_missing_or_different_is_named() {
        let mut file = OnnxFile::open(Cursor::new(file())).unwrap();
        let said = |error: OnnxError| error.to_string();
        assert_eq!(
            said(file.read("weight", &[3]).unwrap_err()),
            "the ONNX file has no tensor `weight`"
        );
        assert_eq!(
            said(file.read("bias", &[1, 3]).unwrap_err()),
            "the tensor `bias` has the shape [3], not [1, 3]"
        );
        // An addition multiplies by nothing.
        assert_eq!(
            said(file.matmul_weight("/dense/Add").unwrap_err()),
            "the ONNX file has no MatMul node `/dense/Add`"
        );
    }

    /// A file with one tensor, made of these fields.
    fn with_tensor(fields: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let (mut tensor, mut graph, mut model) = (Vec::new(), Vec::new(), Vec::new());
        put_bytes(&mut tensor, 8, b"t");
        fields(&mut tensor);
        put_bytes(&mut graph, 5, &tensor);
        put_bytes(&mut model, 7, &graph);
        model
    }

    #[test]
    fn dimensions_may_be_packed() {
        let bytes = with_tensor(|tensor| {
            put_bytes(tensor, 1, &[2, 1]);
            put_number(tensor, 2, 1);
            put_bytes(tensor, 9, &[0; 8]);
        });
        let mut file = OnnxFile::open(Cursor::new(bytes)).unwrap();
        assert_eq!(file.read("t", &[2, 1]).unwrap(), [0.0, 0.0]);
    }

    #[test]
    fn a_tensor_that_is_not_as_large_as_it_says_is_refused() {
        let shapes: [&[u64]; 3] = [&[3], &[1 << 62], &[1 << 40, 1 << 40]];
        for shape in shapes {
            let bytes = with_tensor(|tensor| {
                shape.iter().for_each(|&size| put_number(tensor, 1, size));
                put_number(tensor, 2, 1);
                put_bytes(tensor, 9, &[0; 8]);
            });
            let mut file = OnnxFile::open(Cursor::new(bytes)).unwrap();
            let shape: Vec<usize> = shape.iter().map(|&size| size as usize).collect();
            let error = file.read("t", &shape).unwrap_err();
            assert!(matches!(error, OnnxError::WrongStorage { .. }), "{error}");
        }
        // Of another type.
        let bytes = with_tensor(|tensor| {
            put_number(tensor, 1, 2);
            put_number(tensor, 2, 7);
            put_bytes(tensor, 9, &[0; 8]);
        });
        let mut file = OnnxFile::open(Cursor::new(bytes)).unwrap();
        let error = file.read("t", &[2]).unwrap_err();
        assert!(matches!(error, OnnxError::WrongStorage { .. }), "{error}");
    }

    #[test]
    fn a_file_that_is_cut_off_is_refused() {
        let whole = file();
        // Up to the end of the graph: what comes before and after it can be left out.
        let graph = 12..whole.len() - 4;
        for length in graph {
            let error = OnnxFile::open(Cursor::new(&whole[..length])).unwrap_err();
            assert!(matches!(error, OnnxError::Damaged { .. }), "{error}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
        ) {
            let mut bytes = file();
            for (at, byte) in changes {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            if let Ok(mut file) = OnnxFile::open(Cursor::new(bytes)) {
                let tensors = file.tensors().map(|(name, shape)| (name.to_owned(), shape.to_vec()));
                for (name, shape) in tensors.collect::<Vec<_>>() {
                    let _ = file.read(&name, &shape);
                }
            }
        }
    }
}
