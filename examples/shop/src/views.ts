/** The HTML of the shop. `html` escapes all values. */
import { html } from 'hono/html';

type Html = ReturnType<typeof html>;

function layout(title: string, content: Html, script?: string): Html {
	return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<link rel="stylesheet" href="/style.css">
${script && html`<script type="module" src="/${script}"></script>`}
</head>
<body>
${content}
</body>
</html>`;
}

function header(user: string): Html {
	return html`<header>
<h1>The tea shop</h1>
<p>You are ${user}.</p>
<form method="post" action="/logout"><button>Log out</button></form>
</header>`;
}

export function loginPage(problem?: string): Html {
	return layout(
		'The tea shop',
		html`<h1>The tea shop</h1>
<form method="post" action="/login" class="login">
<label>Name <input name="user" autocomplete="username" required></label>
<label>Password <input name="password" type="password" autocomplete="current-password" required></label>
<button>Log in</button>
${problem && html`<p role="alert">${problem}</p>`}
</form>
<p>Customers: ada and ben. Staff: kim and lea. The password of all is <code>DEMO_PASSWORD</code>: <code>npm start</code> sets tea.</p>`,
	);
}

export function chatPage(user: string): Html {
	return layout(
		'Help',
		html`${header(user)}
<nav aria-label="Conversations"><ul id="chats"></ul><button id="new" type="button">New conversation</button></nav>
<main id="transcript" aria-live="polite"></main>
<p id="problem" role="alert"></p>
<form id="composer">
<input id="text" aria-label="Message" placeholder="Where is my order A-1001?" autocomplete="off" required>
<button>Send</button>
</form>
<footer>
<a href="/my-data" download="my-data.json">All that the assistant knows of me</a>
<form method="post" action="/my-data/erase"><button>Erase it</button></form>
</footer>`,
		'chat.js',
	);
}

export function inboxPage(user: string): Html {
	return layout(
		'Inbox',
		html`${header(user)}
<main>
<h2>What waits for you</h2>
<p id="problem" role="alert"></p>
<p id="empty">Nothing waits.</p>
<div id="approvals"></div>
<h2>Since yesterday</h2>
<p id="digest">The first digest comes tomorrow at seven.</p>
</main>`,
		'inbox.js',
	);
}
