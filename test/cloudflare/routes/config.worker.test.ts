import { env } from 'cloudflare:test';
import { expect, test } from 'vitest';
import { readConfig } from '../../../src/cloudflare/config/config.ts';
import { createEnvironment } from '../../../src/cloudflare/config/environment.ts';
import { createKeys } from '../../credentials.ts';

const { DAY_BUDGET_TOKENS: _, ...bindings } = { DAY_BUDGET_TOKENS: undefined, ...env };
const readBudget = (variables: object) => readConfig({ ...bindings, ...variables }).findDayBudget('somebody');

test('the daily budget has a default value, and the value `none` removes its cap', () => {
	expect(readBudget({})).toEqual({ tokens: 20_000_000 });
	expect(readBudget({ DAY_BUDGET_TOKENS: 'none' })).toEqual({});
	expect(readBudget({ DAY_BUDGET_TOKENS: ' 2000000 ' })).toEqual({ tokens: 2_000_000 });
	expect(readBudget({ DAY_BUDGET_USD: '2.50' })).toEqual({ usd: 2.5 });
	expect(readBudget({ DAY_BUDGET_TOKENS: 1, DAY_BUDGET_USD: 0.01 })).toEqual({ tokens: 1, usd: 0.01 });
});

test('the error for an invalid or empty daily budget names the variable and the remedy', () => {
	for (const [name, wrong] of [
		['DAY_BUDGET_TOKENS', ['', '0', '-1', '1.5', '1e6', 'many', '9'.repeat(20), 0, Number.NaN, true, {}]],
		['DAY_BUDGET_USD', ['', '0', '0.00', '-1', '$2', '2,50', '1e3', 'Infinity', '9'.repeat(400), 0, null]],
	] as const) {
		for (const value of wrong) {
			const read = () => readBudget({ [name]: value });
			expect(read, `${name}=${value}`).toThrow(
				expect.objectContaining({
					code: 'not_configured',
					message: expect.stringMatching(new RegExp(`^${name}: must be .* such as .*\\[vars\\] in wrangler.toml`)),
				}),
			);
		}
	}
});

test('the error for invalid prices names the model and the field, and gives an example', () => {
	for (const [prices, said] of [
		['{', 'must be a JSON object'],
		['[]', 'must be a JSON object'],
		['{"a":1}', 'a: must be an object such as { input, output }'],
		['{"a":{"input":"1","output":1}}', 'a.input: must be a number of US dollars'],
		['{"a":{"input":1}}', 'a.output: missing'],
		['{"a":{"input":1,"output":-1}}', 'a.output: must not be below 0'],
		['{"a-*-b":{"input":1,"output":1}}', 'a-*-b: may have a * at its end alone'],
	] as const)
		expect(() => readBudget({ PRICES: prices }), prices).toThrow(
			expect.objectContaining({
				code: 'not_configured',
				message: `PRICES: ${said}. Prices are in US dollars for a million tokens: {"groq/*":{"input":0.6,"output":0.8}}`,
			}),
		);
});

test('the error for an invalid base URL of a provider names the variable', () => {
	for (const [url, said] of [
		['gateway', 'must be a URL'],
		['ftp://gateway.example.com', 'must begin with https'],
		['https://gateway.example.com/v1?version=1', 'must have no query'],
	] as const)
		for (const name of ['CHAT_BASE_URL', 'OPENAI_BASE_URL'])
			expect(() => readBudget({ [name]: url }), url).toThrow(
				expect.objectContaining({ code: 'not_configured', message: expect.stringContaining(`${name}: ${said}`) }),
			);
});

test('the error for a missing binding names the binding', () => {
	for (const name of ['SESSIONS', 'LEDGERS', 'DIRECTORIES', 'SKILLS', 'PUBLISHERS']) {
		expect(() => readConfig({ ...env, [name]: undefined })).toThrow(
			expect.objectContaining({
				code: 'not_configured',
				message: expect.stringMatching(new RegExp(`^${name}: .*wrangler.toml`)),
			}),
		);
	}
});

test('if the Worker has accounts, an owner without a key has the daily budget and valid tokens', async () => {
	const { bindings: given } = await createKeys({ shop: ['run'] }, { DAY_BUDGET_TOKENS: 7 });
	const read = (hasAccounts: boolean) => readConfig(createEnvironment({ hasAccounts })(given));
	expect(read(true).findDayBudget('ada@example.com')).toEqual({ tokens: 7 });
	expect(read(false).findDayBudget('ada@example.com')).toEqual({ tokens: 0 });
	expect([read(true).knowsKey('account'), read(false).knowsKey('account')]).toEqual([true, false]);
	expect(read(true).knowsKey('abcdefgh1234')).toBe(false);
});
