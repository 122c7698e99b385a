//! Keys and signatures: Ed25519. What is signed always begins with what it is for, so that
//! a signature made for one purpose is worth nothing for another.

use std::fmt;

use missiond_os::hex;
use ring::rand::SystemRandom;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};

pub(crate) const FOR_HEAD: &[u8] = b"missiond audit head\n";
pub(crate) const FOR_KEY: &[u8] = b"missiond audit key\n";

/// A public key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublicKey(pub(crate) [u8; 32]);

impl PublicKey {
    pub(crate) fn from_hex(text: &str) -> Option<Self> {
        hex::decode_array(text).map(Self)
    }

    /// What it is called in heads and to people: the first digits.
    #[must_use]
    pub fn name(&self) -> String {
        hex::encode(&self.0[..8])
    }

    /// Whether this key signed this, for this purpose.
    pub(crate) fn verifies(&self, purpose: &[u8], signed: &[u8], signature: &[u8]) -> bool {
        let key = UnparsedPublicKey::new(&ED25519, self.0);
        let message = [purpose, signed].concat();
        key.verify(&message, signature).is_ok()
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(&self.0))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A key that signs.
pub(crate) struct SigningKey {
    pair: Ed25519KeyPair,
    public: PublicKey,
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SigningKey").field(&self.public).finish()
    }
}

impl SigningKey {
    /// A new key, as it is kept: PKCS#8.
    pub(crate) fn generate() -> Result<Vec<u8>, String> {
        let made = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new());
        let made = made.map_err(|_| "the system gives no random bits".to_owned())?;
        Ok(made.as_ref().to_vec())
    }

    pub(crate) fn from_pkcs8(bytes: &[u8]) -> Option<Self> {
        let pair = Ed25519KeyPair::from_pkcs8(bytes).ok()?;
        let public = pair.public_key().as_ref().try_into().ok()?;
        Some(Self {
            pair,
            public: PublicKey(public),
        })
    }

    pub(crate) fn public(&self) -> PublicKey {
        self.public
    }

    pub(crate) fn sign(&self, purpose: &[u8], signed: &[u8]) -> [u8; 64] {
        let signature = self.pair.sign(&[purpose, signed].concat());
        let mut bytes = [0; 64];
        bytes.copy_from_slice(signature.as_ref());
        bytes
    }
}
