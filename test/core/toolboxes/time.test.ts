import { describe, expect, test } from 'vitest';
import { tool } from '../../../src/core/index.ts';
import { timeTool } from '../../../src/core/toolboxes/time.ts';

const noon = new Date('2026-11-21T12:34:56Z');

function ask(input: unknown, now = noon) {
	return tool.dispatch([timeTool(() => now)], { id: 'c', name: 'get_time', input });
}

describe('get_time', () => {
	test('returns date, weekday and time in UTC by default', async () => {
		for (const input of [{}, { timeZone: null }]) {
			const { output } = await ask(input);
			for (const part of ['Saturday', '21 November 2026', '12:34:56', 'UTC']) expect(output).toContain(part);
		}
	});

	test('returns the time in a zone, with its offset and the same moment in UTC', async () => {
		const { output } = await ask({ timeZone: 'Asia/Kolkata' });
		for (const part of ['18:04:56', 'Asia/Kolkata', '5:30', '2026-11-21T12:34:56.000Z']) expect(output).toContain(part);
	});

	test('returns the date in the zone', async () => {
		expect((await ask({ timeZone: 'Pacific/Auckland' })).output).toContain('Sunday');
		expect((await ask({ timeZone: 'Pacific/Auckland' })).output).toContain('22 November 2026');
	});

	test('applies the daylight saving time of a zone', async () => {
		expect((await ask({ timeZone: 'Europe/Paris' })).output).toContain('13:34:56');
		expect((await ask({ timeZone: 'Europe/Paris' }, new Date('2026-07-01T12:00:00Z'))).output).toContain('14:00:00');
	});

	test('writes midnight as 00, not as 24', async () => {
		expect((await ask({}, new Date('2026-11-21T00:00:00Z'))).output).toContain('00:00:00');
	});

	test.each(['Mars/Olympus', '', 'Paris, France'])(
		'the error for a zone that does not exist contains an example (%j)',
		async (timeZone) => {
			const result = await ask({ timeZone });
			expect(result).toMatchObject({ isError: true, output: expect.stringMatching(/^timeZone: .*Europe\/Paris/) });
		},
	);

	test('reads the clock at every call', async () => {
		let at = 0;
		const own = timeTool(() => new Date(++at * 1_000));
		const call = { id: 'c', name: 'get_time', input: {} };
		expect((await tool.dispatch([own], call)).output).toContain('00:00:01');
		expect((await tool.dispatch([own], call)).output).toContain('00:00:02');
	});
});
