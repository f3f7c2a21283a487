/** The short forms of `npm run endurance`. */
import { describe, test } from 'vitest';
import { a2a } from '../endurance/a2a.ts';
import { answers } from '../endurance/answers.ts';
import { budget } from '../endurance/budget.ts';
import { copies } from '../endurance/copies.ts';
import { crowd } from '../endurance/crowd.ts';
import { cuts } from '../endurance/cuts.ts';
import { files } from '../endurance/files.ts';
import { fuzz } from '../endurance/fuzz.ts';
import { kills } from '../endurance/kills.ts';
import { leave } from '../endurance/leave.ts';
import { neighbours } from '../endurance/neighbours.ts';
import { overload } from '../endurance/overload.ts';
import { points } from '../endurance/points.ts';
import { responses } from '../endurance/responses.ts';
import { served } from '../endurance/served.ts';
import { show, timeout } from '../endurance/short.ts';
import { stops } from '../endurance/stops.ts';
import { webhooks } from '../endurance/webhooks.ts';

// These programmes run together, because each has its own server and mostly waits.
describe.concurrent('in parallel', () => {
	test('a tool that asks a question never has its effect twice, even if the server is killed', { timeout }, () =>
		show('answers', answers({ count: 2 })),
	);

	test('runs survive a crash after any of their writes', { timeout }, () => show('points', points({ count: 1 })));

	test('a reader whose connection is cut gets the stored bytes, and each event once', { timeout }, () =>
		show('cuts', cuts({ count: 50, kills: 2 })),
	);

	test('a response has each event once behind any starting_after, over cuts and kills', { timeout }, () =>
		show('responses', responses({ count: 20, kills: 2 })),
	);

	test(
		'a task has its answer and its messages once for whoever subscribes again, over cuts and kills',
		{ timeout },
		() => show('a2a', a2a({ count: 20, kills: 2 })),
	);

	test('a run completes after its client disconnects', { timeout }, () => show('leave', leave({ count: 20 })));

	test('many sessions can start at once without a failure', { timeout }, () => show('crowd', crowd({ count: 100 })));

	test('concurrent runs never exceed a shared budget, even if the server is killed', { timeout }, () =>
		show('budget', budget({ count: 10, kills: 3 })),
	);

	test('concurrent runs of a large owner never exceed its budget, even if the server is killed', { timeout }, () =>
		show('shards', budget({ count: 10, kills: 3 }, { LARGE_OWNERS: 'local' })),
	);

	test('a killed server leaves no partial or repeated change of files', { timeout }, () =>
		show('files', files({ count: 5 })),
	);

	test(
		'exports, imports and forks go on after a kill, and their memory does not grow with the session',
		{ timeout },
		() => show('copies', copies({ count: 20 })),
	);

	test('no request makes the Worker fail', { timeout }, () => show('fuzz', fuzz({ count: 1_000 })));

	test('five concurrent deliveries of each webhook start one run, even if the server is killed', { timeout }, () =>
		show('webhooks', webhooks({ count: 500, kills: 3 })),
	);
});

// This programme runs alone, because it measures the delays of other requests.
test('expensive calls of one tenant end, and no request of another tenant fails', { timeout }, () =>
	show('neighbours', neighbours({ count: 1 })),
);

test(
	'if one owner sends ten times too many requests, the Worker serves its capacity and refuses the rest at once',
	{
		timeout,
	},
	() => show('overload', overload({ count: 10 })),
);

// These programmes run alone: a busy machine would change their charges of aborted calls, which depend on the
// time.
test('runs survive random kills, and end even without a further request', { timeout }, () =>
	show('kills', kills({ count: 20 })),
);

test('the cost of cancelled answers is charged, with and without a budget', { timeout }, () =>
	show('stops', stops({ count: 10 })),
);

test('runs with tools of an MCP server survive kills, and no unsafe tool is called twice', { timeout }, () =>
	show('served', served({ count: 4 })),
);
