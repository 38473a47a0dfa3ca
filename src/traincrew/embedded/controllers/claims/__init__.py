"""PersistentVolumeClaims and PersistentVolumes: binding, protection, provisioning, ephemeral volumes."""
