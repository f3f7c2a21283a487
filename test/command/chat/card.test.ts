import { expect, onTestFinished, test, vi } from 'vitest';
import { printCall, printQuestion, toAnswer, toAnswerText } from '../../../src/command/chat/card.ts';

const approval = { id: 'c1', kind: 'approval' } as const;

test.for(['a', 'A', 'allow', 'approve', 'y', 'yes', ' ok '])('the line %j allows a call', (line) => {
	expect(toAnswer(approval, line)).toEqual({ id: 'c1', approve: true });
});

test.for(['d', 'deny', 'n', 'No'])('the line %j denies a call without a reason', (line) => {
	expect(toAnswer(approval, line)).toEqual({ id: 'c1', approve: false });
});

test.for([
	['too expensive', 'too expensive'],
	['deny too expensive', 'too expensive'],
	['a good idea would be to ask first', 'a good idea would be to ask first'],
	['yes, but not today', 'yes, but not today'],
	['no {"amount": 20}', 'no {"amount": 20}'],
])('the line %j denies a call with the reason %j', ([line = '', reason]) => {
	expect(toAnswer(approval, line)).toEqual({ id: 'c1', approve: false, reason });
});

test('a JSON object behind the word allows a call with other arguments', () => {
	expect(toAnswer(approval, 'a {"amount": 20}')).toEqual({ id: 'c1', approve: true, input: { amount: 20 } });
	expect(() => toAnswer(approval, 'a {"amount": 20')).toThrow('{"amount": 20: this is no JSON object');
});

test('a call for its result takes the line, and ! begins an error', () => {
	expect(toAnswer({ id: 'c1' }, 'yes')).toEqual({ id: 'c1', output: 'yes', isError: false });
	expect(toAnswer({ id: 'c1' }, '! gone')).toEqual({ id: 'c1', output: 'gone', isError: true });
});

test('a question takes the number of a choice, or any text', () => {
	const question = { callId: 'q1', question: 'Which size?', options: { choices: ['S', 'M'] } };
	expect(['2', 'S', '3', 'blue'].map((line) => toAnswerText(question, line))).toEqual(['M', 'S', '3', 'blue']);
	const counts = { ...question, options: { choices: ['2', '1'] } };
	expect(toAnswerText(counts, '2')).toBe('2');
});

test("a child's call takes the same words as the session's own", () => {
	const call = { id: 'k1', name: 'publish', input: { title: 'Tea' } };
	const question = {
		callId: 'q1',
		question: 'May it?',
		options: { child: { agent: 'writer' }, kind: 'approval', call },
	};
	expect(['a', 'd', 'too early', 'a {"title":"Milk"}'].map((line) => toAnswerText(question, line))).toEqual([
		...['approve', 'deny', 'deny too early', 'approve {"title":"Milk"}'],
	]);
});

/** Collects what is written to standard error. */
function readLines(write: () => void): string[] {
	const spy = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
	onTestFinished(() => spy.mockRestore());
	write();
	return spy.mock.calls
		.map(([text]) => String(text))
		.join('')
		.trimEnd()
		.split('\n');
}

const asking = {
	...{ agent: 'desk', title: 'Pay the bill.', user: 'ada', labels: ['outside' as const] },
	wait: { since: '2026-01-02T03:04:05.000Z', expiresAt: '2026-01-03T03:04:05.000Z' },
	budget: { limit: {}, spent: { tokens: 1_239, usd: 0.25 }, reserved: { tokens: 0, usd: 0 }, left: {} },
};
const facts = 'in “Pay the bill.” · for ada · since 2026-01-02 03:04 UTC · until 2026-01-03 03:04 UTC';
const cost = '1,239 tokens, $0.25 so far · from outside';

test('the card of a call says in words what would happen, who asks, since when, from what text and the cost', () => {
	const input = { orderId: 'A-1', about: { isUrgent: true, lines: ['one', 'two'] }, note: null };
	const call = { ...approval, name: 'issue_refund', input, preview: '--- a/x\n+++ b/x\n@@ -1 +1 @@\n+line' };
	expect(readLines(() => printCall(call, asking, 2))).toEqual([
		...['Issue refund? (1 of 2)', `  desk calls issue_refund · ${facts} · ${cost}`],
		...['  Order id: A-1', '  About:', '    Is urgent: yes', '    Lines:', '      1: one', '      2: two'],
		...['  Note: none', '  --- a/x', '  +++ b/x', '  @@ -1 +1 @@', '  +line'],
		'a allows it, d denies it, other words deny it with that reason',
	]);
});

test('the card of a question says who asks', () => {
	const question = { callId: 'q1', question: 'Which size?', options: { choices: ['S', 'M'] } };
	expect(readLines(() => printQuestion(question, asking))).toEqual([
		...['Which size?', `  desk · ${facts} · ${cost}`, '  1. S', '  2. M'],
	]);
});
