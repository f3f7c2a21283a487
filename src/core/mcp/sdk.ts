/** The part of the protocol's client that Runlet uses. The package holds a copy (scripts/pack/copies.ts). */
export {
	auth,
	Client,
	ProtocolError,
	SdkError,
	SdkErrorCode,
	SdkHttpError,
	StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
