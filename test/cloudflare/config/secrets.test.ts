import { expect, test } from 'vitest';
import { listSecrets } from '../../../src/cloudflare/config/secrets.ts';

test('lists keys, tokens and secrets, several in one variable, those of agents and the hashes of API keys, and nothing else', () => {
	const env = {
		ANTHROPIC_API_KEY: 'a',
		CHAT_API_KEY: 'b',
		CALLBACK_SECRET: 'c, d',
		SLACK_WEBHOOK_SECRET: 'e f',
		HMAC_WEBHOOK_SECRET_TRIAGE: 'g',
		SECRETS_KEY: 'h i',
		GITHUB_TOKEN: ' j ',
		BRAVE_API_KEY: 'k',
		SEARCH_API_KEY: 'l',
		LOCAL: 'm',
		STRIPE_WEBHOOK_SECRET: '',
		MODEL: 'demo',
		PUBLIC_URL: 'https://agents.example.com',
		API_KEYS: '[]',
		SESSIONS: {},
	};
	const found = Object.groupBy(listSecrets(env, [{ hash: 'n' }]), ({ name }) => name);
	expect(
		Object.fromEntries(Object.entries(found).map(([name, all]) => [name, all?.map(({ value }) => value)])),
	).toEqual({
		ANTHROPIC_API_KEY: ['a'],
		CHAT_API_KEY: ['b'],
		CALLBACK_SECRET: ['c', 'd'],
		SLACK_WEBHOOK_SECRET: ['e', 'f'],
		HMAC_WEBHOOK_SECRET_TRIAGE: ['g'],
		SECRETS_KEY: ['h', 'i'],
		GITHUB_TOKEN: ['j'],
		BRAVE_API_KEY: ['k'],
		SEARCH_API_KEY: ['l'],
		LOCAL: ['m'],
		API_KEYS: ['n'],
	});
});
