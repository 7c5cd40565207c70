/** Version of all messages between the processes of one instance. Raised when a message changes its meaning. */
export const PROTOCOL_VERSION = 3

/** Version of the product, shown by `svc --version`, `svc status` and the control plane. */
export const PRODUCT_VERSION = '0.1.0'
