/**
 * The used part of the protocol's client, as a module of its own. The first connection loads it. The package holds a copy
 * of it (scripts/pack/copies.ts).
 */
export {
	auth,
	Client,
	ProtocolError,
	SdkError,
	SdkErrorCode,
	SdkHttpError,
	StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
