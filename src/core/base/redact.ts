/** The most characters of a text that are searched. The rest is cut off. */
const longest = 20_000;

/**
 * The forms of secrets by their issuer. Each is a fixed beginning and one run of a character class in which that
 * beginning cannot occur, so a text is searched in linear time.
 */
const shapes: readonly RegExp[] = [
	// GitHub: https://github.blog/engineering/platform-security/behind-githubs-new-authentication-token-formats/
	/(?<![A-Za-z0-9])(?:gh[a-z]_\w{16,}|github_pat_\w{16,})/g,
	// A JWT (RFC 7519, 3): a header and a payload, which are JSON objects as base64url, and mostly a signature.
	/(?<![\w-])eyJ[\w-]{6,}\.[\w-]{2,}(?:\.[\w-]*){0,3}/g,
	// Runlet's own keys and tokens, and secrets of webhooks.
	/(?<![A-Za-z0-9])(?:rls?_[a-z0-9]{8,}_[\w-]{16,}|whsec_[\w+/=-]{16,})/g,
	// Anthropic, OpenAI and others; Stripe; xAI; Groq; Google; Slack.
	/(?<![A-Za-z0-9])(?:sk-[\w-]{16,}|[rs]k_(?:live|test)_\w{8,}|xai-\w{16,}|gsk_\w{16,}|AIza[\w-]{30,}|xox[a-z]-[\w-]{10,})/g,
];

/** The id of an AWS key: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html */
const awsId = /(?<![A-Za-z0-9])A(?:KI|SI)A[A-Z0-9]{16}(?![A-Za-z0-9])/g;
const awsNames = /aws_?secret|secret_?access_?key|aws_?session_?token/i;
/** The secret of an AWS key: any 40 characters of base64. A session's token is longer. */
const awsSecret = /(?<![A-Za-z0-9+/])(?:[A-Za-z0-9+/]{40}|[A-Za-z0-9+/]{100,}={0,2})(?![A-Za-z0-9+/=])/g;

/**
 * Replaces everything that looks like a secret by `[key]`: keys of GitHub, AWS, model providers and Runlet, and JWTs.
 * For error messages, which may quote any text. Returns at most the first 20,000 characters.
 */
export function redactSecrets(text: string): string {
	let out = text.length > longest ? `${text.slice(0, longest)}…` : text;
	const hasAws = out.search(awsId) >= 0 || awsNames.test(out);
	for (const shape of shapes) out = out.replace(shape, '[key]');
	return hasAws ? out.replace(awsId, '[key]').replace(awsSecret, '[key]') : out;
}
