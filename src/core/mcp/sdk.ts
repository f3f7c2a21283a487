/** The used part of the protocol's client, loaded on demand. The package holds a copy (scripts/pack/copies.ts). */
export {
	auth,
	Client,
	ProtocolError,
	SdkError,
	SdkErrorCode,
	SdkHttpError,
	StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
