import { expect, test } from 'vitest';
import { RunletError, toMessageText } from '../../../src/core/base/errors.ts';
import { redactSecrets } from '../../../src/core/base/text.ts';

const jwt =
	'eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U';
const awsSecret = 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY';

/** Each secret is in pieces, so that no secret scanner reports the file. */
const secrets: Readonly<Record<string, string>> = {
	'a classic token of GitHub': `ghp_${'a1B2'.repeat(9)}`,
	'an OAuth token of GitHub': `gho_${'a1B2'.repeat(9)}`,
	'a user token of an app of GitHub': `ghu_${'a1B2'.repeat(9)}`,
	'a server token of an app of GitHub': `ghs_${'a1B2'.repeat(9)}`,
	'a refresh token of GitHub': `ghr_${'a1B2'.repeat(9)}`,
	'a fine-grained token of GitHub': `github_pat_11ABCDEFG0${'a1B2_'.repeat(14)}`,
	'the id of a key of AWS': `AKIA${'IOSFODNN7EXAMPLE'}`,
	'the id of a temporary key of AWS': `ASIA${'IOSFODNN7EXAMPLE'}`,
	'a JWT': jwt,
	'a JWT without a signature': jwt.slice(0, jwt.lastIndexOf('.') + 1),
	'a key of Runlet': `rl_abcdefgh1234_${'x-Y_'.repeat(10)}abc`,
	'a token of Runlet': `rls_${'ab'.repeat(32)}_ab12_${'x-Y_'.repeat(10)}abc`,
	'a key of Stripe': `sk_${'live'}_4eC39HqLyjWDarjtT1zdp7dc`,
	'a token of Slack': `xoxb${'-123456789012-abcdefghijkl'}`,
};

test.each(Object.entries(secrets))('%s is removed anywhere in a text', (_, secret) => {
	for (const text of [
		secret,
		`Bad credentials: ${secret}.`,
		`{"authorization":"Bearer ${secret}"}`,
		`https://example.com/?token=${secret}&more=1`,
		`https://${secret}:x@example.com/`,
		`twice\n${secret},${secret}`,
	])
		expect(redactSecrets(text), text).not.toContain(secret);
	expect(redactSecrets(`before ${secret} after`)).toBe('before [key] after');
});

test('removes the secret of an AWS key from a text about AWS', () => {
	for (const text of [
		`AKIA${'IOSFODNN7EXAMPLE'}:${awsSecret}`,
		`key ${awsSecret} of ASIA${'IOSFODNN7EXAMPLE'}`,
		`aws_secret_access_key = ${awsSecret}`,
		`{"SecretAccessKey":"${awsSecret}"}`,
	])
		expect(redactSecrets(text), text).not.toContain(awsSecret);
	const token = 'FwoGZXIvYXdzE'.repeat(12);
	expect(redactSecrets(`AWS_SESSION_TOKEN=${token}`)).not.toContain(token);
});

test('a text without a secret stays unchanged', () => {
	for (const text of [
		'Authorization: missing. Send your API key, or a session token: Authorization: Bearer rl_…',
		'commit 2fd4e1c67a2d28fced849ee1bb76e7391b93eb12 is not there',
		'gh_pages, ghp_ and github_pat_ are beginnings; AKIA is one, too; eyJ is what base64 makes of {"',
		'rl_…, rls_… and sk-… are forms',
		'body: more than 4000000 bytes. Send less.',
	])
		expect(redactSecrets(text)).toBe(text);
});

test('removes secrets from all error messages', () => {
	const secret = secrets['a classic token of GitHub'] ?? '';
	expect(new RunletError('internal', `GitHub: ${secret} is wrong`).message).toBe('GitHub: [key] is wrong');
	expect(new RunletError('internal', `GitHub: ${secret} is wrong`).stack).not.toContain(secret);
	expect(toMessageText(new Error(`401 for ${jwt}`))).toBe('401 for [key]');
	expect(toMessageText(`401 for ${jwt}`)).toBe('401 for [key]');
});

test('reads a text in linear time, and returns a bounded text', () => {
	const pumped = ['eyJ', 'eyJa.', 'eyJaaaaaaa-', 'ghp_', 'github_pat_a', 'AKIA', 'sk-', 'rl_aaaaaaaa_', 'A', 'a=', '.'];
	for (const piece of pumped) {
		const whole = piece.repeat(Math.ceil(1_000_000 / piece.length));
		expect(redactSecrets(whole).length).toBeLessThan(21_000);
		expect(redactSecrets(`aws_secret ${whole}`).length).toBeLessThan(21_000);
	}
});
