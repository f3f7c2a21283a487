/**
 * The bindings and variables that tools get (docs/tools.md, "Secrets and bindings"). It is empty until a project
 * declares its fields: `declare module 'runlet/cloudflare' { interface Env { readonly CRM_KEY: string } }`.
 */
// biome-ignore lint/suspicious/noEmptyInterface: A project adds its own fields, which only an interface allows.
export interface Env {}
