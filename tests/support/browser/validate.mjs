// SPDX-License-Identifier: BSD-2-Clause
// node validate.mjs < {"DEFINITION": [document, ...], ...}: prints what is wrong with each document, a line each.
import {readFileSync} from 'node:fs';
import Ajv from 'ajv';

const schema = JSON.parse(readFileSync(new URL('api_schema.json', import.meta.url)));
const ajv = new Ajv({allErrors: true, strict: false});
ajv.addSchema(schema, 'api');
for (const [name, documents] of Object.entries(JSON.parse(readFileSync(0)))) {
  const validate = ajv.getSchema(`api#/definitions/${name}`);
  for (const document of documents) {
    if (validate(document)) continue;
    for (const error of validate.errors.slice(0, 5)) console.log(`${name}${error.instancePath}: ${error.message} ${JSON.stringify(error.params)}`);
  }
}
