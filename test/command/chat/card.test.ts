import { expect, test } from 'vitest';
import { toAnswer, toAnswerText } from '../../../src/command/chat/card.ts';

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
