// Writes src/api/schema.ts from the OpenAPI document of the server in this checkout: `npm run schema`.
// With a path as argument the types are written there: a test compares them with the committed file.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import openapiTypescript, { astToString } from 'openapi-typescript';

const checkout = fileURLToPath(new URL('../..', import.meta.url));
const target = process.argv[2] ?? fileURLToPath(new URL('../src/api/schema.ts', import.meta.url));
const python = process.env.PYTHON ?? `${checkout}/.venv/bin/python`;
const program = `
import json
from reelstate.api.app import create_app
from reelstate.config import DEFAULTS
from reelstate.engine import Engine
from reelstate.app import store_at
print(json.dumps(create_app(Engine(store_at("sqlite://")), DEFAULTS).openapi()))
`;
const document = JSON.parse(execFileSync(python, ['-c', program], { cwd: checkout, encoding: 'utf8', maxBuffer: 1 << 26 }));
const banner = '// Generated from the OpenAPI document of the server by `npm run schema`. Do not edit.\n\n';
writeFileSync(target, banner + astToString(await openapiTypescript(document)));
