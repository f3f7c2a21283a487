/** The global type that the ledger's interface names. The types of Workers do not go together with those of Node. */
type DurableObjectId = import('@cloudflare/workers-types').DurableObjectId;
