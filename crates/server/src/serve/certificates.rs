//! The certificates of a server: a new CA, and a certificate for the loopback addresses.

use std::io;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

/// The created certificates.
pub(super) struct Created {
    pub(super) configuration: Arc<ServerConfig>,
    /// The certificate of the CA in PEM.
    pub(super) authority: String,
}

/// Creates the certificates. Their keys are only kept in memory.
pub(super) fn create() -> io::Result<Created> {
    let key = KeyPair::generate().map_err(io::Error::other)?;
    let mut parameters = CertificateParams::new(Vec::new()).map_err(io::Error::other)?;
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    parameters.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    parameters.distinguished_name.push(rcgen::DnType::CommonName, "test-server CA");
    let authority = parameters.self_signed(&key).map_err(io::Error::other)?.pem();
    let issuer = Issuer::new(parameters, key);
    let names = ["127.0.0.1", "localhost"].map(str::to_string);
    let own_key = KeyPair::generate().map_err(io::Error::other)?;
    let own = CertificateParams::new(names).and_then(|own| own.signed_by(&own_key, &issuer));
    let own = own.map_err(io::Error::other)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let configuration = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_no_client_auth();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(own_key.serialize_der()));
    let configuration =
        configuration.with_single_cert(vec![own.der().clone()], key).map_err(io::Error::other)?;
    Ok(Created { configuration: Arc::new(configuration), authority })
}
