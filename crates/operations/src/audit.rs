//! Handlers of the audit.

use missiond_api::ApiError;
use missiond_api::operations::NoParams;
use missiond_api::operations::audit::{
    AuditKeyChanged, AuditList, AuditListParams, AuditPage, AuditRotateKey,
};
use missiond_audit::read::{Filter, newest};
use missiond_core::{ErrorCode, Text};
use missiond_runtime::blocking;

use crate::call::{Call, Operations, of_audit};

pub(super) fn register(operations: &mut Operations) {
    operations.add::<AuditList, _, _>(list);
    operations.add::<AuditRotateKey, _, _>(rotate_key);
}

async fn list(call: Call, params: AuditListParams) -> Result<AuditPage, ApiError> {
    let folder = call.daemon.home.audit_dir();
    let filter = Filter {
        kind: params.kind,
        text: params.text.map(Text::into_string),
        before: params.before,
    };
    let limit = params.limit.to_usize();
    let found = blocking(move || newest(&folder, &filter, limit)).await;
    let (records, more) = found.map_err(|error| {
        let message = format!("the audit cannot be read: {error}");
        ApiError::new(ErrorCode::StorageUnavailable, message)
    })?;
    Ok(AuditPage { records, more })
}

async fn rotate_key(call: Call, _: NoParams) -> Result<AuditKeyChanged, ApiError> {
    let audit = &call.daemon.audit;
    let changed = audit.rotate_key(&call.principal).await;
    let record = changed.map_err(|error| of_audit(&error))?.0;
    let key = audit.head().map(|head| head.key).unwrap_or_default();
    Ok(AuditKeyChanged { key, record })
}
